#include "report/folder.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <time.h>

#include "os/paths.h"
#include "scenario/mark.h"
#include "scenario/trace.h"

#define LOG_MAX (256u << 20)
#define ARRIVALS_MAX ((size_t)512 << 20) // room for all times that a plan can hold

bool folder_find(char out[PATH_MAX], const char *dir, const char *name, struct err *e)
{
    return path_join(out, dir, name, e) &&
           (path_exists(out) ||
               err_set(e, ERR_USAGE, "%.900s is not a result folder: it has no %s", dir, name));
}

bool folder_begin(const char *dir, const char *name, struct folder_file *file, struct err *e)
{
    *file = (struct folder_file){0};
    if (!path_join(file->path, dir, name, e))
        return false;
    if (snprintf(file->fresh, sizeof file->fresh, "%s.new", file->path) >= (int)sizeof file->fresh)
        return err_set(e, ERR_SYSTEM, "the path %.200s… is too long", file->path);
    // The file has another name until it is whole, so that nobody reads half a file.
    file->out = fopen(file->fresh, "we");
    return file->out || err_sys(e, ERR_SYSTEM, "cannot write %s", file->fresh);
}

bool folder_finish(struct folder_file *file, bool whole, struct err *e)
{
    bool ok = !ferror(file->out);

    ok = fclose(file->out) == 0 && ok;
    if (ok && whole && rename(file->fresh, file->path) == 0)
        return true;
    // unlink may change errno, which says what failed.
    int failure = errno;
    unlink(file->fresh);
    errno = failure;
    return !whole || err_sys(e, ERR_SYSTEM, "cannot write %s", file->path);
}

bool folder_write(const char *dir, const char *name, const struct buf *content, struct err *e)
{
    struct folder_file file;

    if (content->failed)
        return err_set(e, ERR_INTERNAL, "%s would be too long", name);
    if (!folder_begin(dir, name, &file, e))
        return false;
    // folder_finish finds out when a write has failed.
    if (content->len > 0)
        fwrite(content->data, 1, content->len, file.out);
    return folder_finish(&file, true, e);
}

static bool write_folder_scenario(const struct folder *f, const struct scenario *s, struct err *e)
{
    struct buf yaml FREED_BY(buf_fini) = BUF_INIT(1 << 20);

    bool ok = scenario_write(s, &yaml, e);
    // The mark says that a run of this user wrote the file, so that its commands may be run again
    // without a question.
    if (ok)
        mark_append(&yaml);
    return ok && folder_write(f->path, "scenario.yaml", &yaml, e);
}

// Copies the files of recorded arrivals, so that the folder is enough to repeat the run.
static bool copy_arrivals(const struct folder *f, const struct scenario *s, struct err *e)
{
    bool ok = true;

    for (size_t i = 0; ok && i < s->load_count; i++) {
        struct buf times FREED_BY(buf_fini) = BUF_INIT(ARRIVALS_MAX);
        ok = !s->load[i].file || (trace_write(&s->load[i], &times) &&
                                     folder_write(f->path, s->load[i].file, &times, e));
    }
    return ok;
}

void folder_stamp(char stamp[FOLDER_STAMP_LEN])
{
    time_t now = time(NULL);
    struct tm utc;

    strftime(stamp, FOLDER_STAMP_LEN, "%Y%m%dT%H%M%SZ", gmtime_r(&now, &utc));
}

// Makes the run's folder. If a run with this seed began in the same second, a number ends the name.
static bool make_run_folder(
    struct folder *f, const char *parent, const struct scenario *s, struct err *e)
{
    char stamp[FOLDER_STAMP_LEN], name[80];

    folder_stamp(stamp);
    for (int i = 0; i < 100; i++) {
        int len = snprintf(name, sizeof name, "%s-%llu", stamp, (unsigned long long)s->seed);
        if (i > 0)
            snprintf(name + len, sizeof name - (size_t)len, ".%d", i);
        if (!path_join(f->path, parent, name, e))
            return false;
        if (mkdir(f->path, 0777) == 0)
            return true;
        // Another run may just have removed the parent, because it was empty.
        bool again = errno == EEXIST || (errno == ENOENT && path_make(parent, e));
        if (!again)
            break;
    }
    err_sys(e, path_err_kind(), "cannot make the folder %s", f->path);
    // Without a path, folder_fini has nothing to remove.
    f->path[0] = '\0';
    return false;
}

bool folder_make(struct folder *f, const struct scenario *s, const char *out, struct err *e)
{
    char parent[PATH_MAX];

    *f = (struct folder){0};
    if (!path_join(parent, out, s->name, e))
        return false;
    if (!path_make(parent, e) || !make_run_folder(f, parent, s, e))
        return err_prefix(e, "--out");
    return path_join(f->logs, f->path, "logs", e) && path_make(f->logs, e) &&
           write_folder_scenario(f, s, e) && copy_arrivals(f, s, e);
}

bool folder_open(struct folder *f, const char *path, struct err *e)
{
    char target[PATH_MAX], link[PATH_MAX];
    size_t len = strlen(path);

    *f = (struct folder){0};
    while (len > 1 && path[len - 1] == '/')
        len--;
    if (snprintf(f->path, sizeof f->path, "%.*s", (int)len, path) >= (int)sizeof f->path)
        return err_set(e, ERR_USAGE, "the path %.200s… is too long", path);
    // The next run moves the link `latest`, so f->path becomes the folder to which it leads now.
    ssize_t target_len = readlink(f->path, target, sizeof target - 1);
    if (target_len >= 0) {
        target[target_len] = '\0';
        memcpy(link, f->path, sizeof link);
        if (!path_beside(f->path, link, target))
            return err_set(e, ERR_SYSTEM, "the path to which %.200s leads is too long", link);
    }
    return path_join(f->logs, f->path, "logs", e);
}

bool folder_link_latest(struct folder *f, struct err *e)
{
    char link[PATH_MAX], fresh[PATH_MAX];

    f->judged = true;
    if (!path_beside(link, f->path, "latest") ||
        snprintf(fresh, sizeof fresh, "%s.new", f->path) >= (int)sizeof fresh)
        return err_set(e, ERR_SYSTEM, "the path %.200s… is too long", f->path);
    unlink(fresh);
    // A new link is renamed to `latest`, so that `latest` leads to a run at every moment. The link
    // is relative, because results may be moved.
    if (symlink(path_name(f->path), fresh) == 0 && rename(fresh, link) == 0)
        return true;
    err_sys(e, ERR_SYSTEM, "cannot make the link %s", link);
    unlink(fresh);
    return false;
}

// Removes the empty logs, so that the folder of logs can be removed unless a program has logged
// something.
static void remove_empty_logs(const struct folder *f)
{
    DIR *dir = opendir(f->logs);
    struct stat st;

    for (struct dirent *entry; dir && (entry = readdir(dir));) {
        if (fstatat(dirfd(dir), entry->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
            S_ISREG(st.st_mode) && st.st_size == 0)
            unlinkat(dirfd(dir), entry->d_name, 0);
    }
    if (dir)
        closedir(dir);
}

// Removes the files that folder_make has written.
static void remove_inputs(const struct folder *f)
{
    DIR *dir = opendir(f->path);

    for (struct dirent *entry; dir && (entry = readdir(dir));) {
        if (strcmp(entry->d_name, "scenario.yaml") == 0 || trace_is_name(entry->d_name))
            unlinkat(dirfd(dir), entry->d_name, 0);
    }
    if (dir)
        closedir(dir);
}

// Removes the folder that holds all runs of the scenario if no run is in it: rmdir removes only an
// empty folder.
static void remove_empty_parent(const struct folder *f)
{
    char parent[PATH_MAX];

    snprintf(parent, sizeof parent, "%s", f->path);
    *strrchr(parent, '/') = '\0';
    rmdir(parent);
}

void folder_fini(struct folder *f)
{
    if (f->path[0] && !f->judged && !path_has(f->path, "result.json")) {
        remove_empty_logs(f);
        // A run that could not begin leaves no folder. But if it has written a log, which tells
        // why, the folder stays.
        if (rmdir(f->logs) == 0) {
            remove_inputs(f);
            rmdir(f->path);
            remove_empty_parent(f);
        }
    }
    *f = (struct folder){0};
}

// Opens the server's log at a byte of it; NULL: there is no log, or it cannot be read.
static FILE *open_server_log(const char *server_log, long from_byte)
{
    FILE *file = server_log ? fopen(server_log, "re") : NULL;

    // A soak's segments share one log. Each copies its own part.
    if (file && fseek(file, from_byte, SEEK_SET) != 0) {
        fclose(file);
        return NULL;
    }
    return file;
}

bool folder_copy_log(const struct folder *f, const char *server_log, long from, struct err *e)
{
    struct buf text FREED_BY(buf_fini) = BUF_INIT(LOG_MAX);
    char chunk[65536];
    size_t got;

    FILE *file = open_server_log(server_log, from);
    if (!file)
        return true;
    while ((got = fread(chunk, 1, sizeof chunk, file)) > 0 && buf_append(&text, chunk, got))
        ;
    fclose(file);
    // Of a log that is too long, the beginning is kept, because it explains most.
    text.failed = false;
    return folder_write(f->path, "logs/server.log", &text, e);
}
