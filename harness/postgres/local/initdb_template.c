#include "postgres/local/initdb_template.h"

#include <dirent.h>
#include <glob.h>
#include <pwd.h>
#include <sys/stat.h>
#include <time.h>

#include "os/block_group.h"
#include "os/paths.h"
#include "os/process.h"
#include "os/workdir.h"

// Raise this when the arguments of initdb change.
#define TEMPLATE_FORMAT 1

#define UNFINISHED_S 3600

bool template_user(struct server_user *user, struct err *e)
{
    static const char *const candidates[] = {"postgres", "nobody"};

    user->uid = geteuid();
    user->gid = getegid();
    if (user->uid != 0)
        return true;
    for (size_t i = 0; i < sizeof candidates / sizeof *candidates; i++) {
        const struct passwd *entry = getpwnam(candidates[i]);
        if (!entry || entry->pw_uid == 0)
            continue;
        user->uid = entry->pw_uid;
        user->gid = entry->pw_gid;
        return true;
    }
    return err_set(e, ERR_SKIP,
        "PostgreSQL refuses to run as root, and there is neither a user postgres nor nobody");
}

static bool holds_server(const char *dir)
{
    char program[PATH_MAX];
    struct err ignored;

    return path_join(program, dir, "initdb", &ignored) && access(program, X_OK) == 0 &&
           path_join(program, dir, "postgres", &ignored) && access(program, X_OK) == 0;
}

// Returns the first number in a path, which is the major version. Compared as text, 9 would be
// newer than 10.
static int major_of(const char *path)
{
    while (*path && (*path < '0' || *path > '9'))
        path++;
    return (int)strtol(path, NULL, 10);
}

// Finds the newest PostgreSQL in the folders of Debian's and Red Hat's packages.
static bool find_in_packages(char *out, size_t size)
{
    glob_t found = {0};
    int best = -1;

    glob("/usr/lib/postgresql/*/bin", 0, NULL, &found);
    glob("/usr/pgsql-*/bin", GLOB_APPEND, NULL, &found);
    for (size_t i = 0; i < found.gl_pathc; i++) {
        if (!holds_server(found.gl_pathv[i]) || major_of(found.gl_pathv[i]) <= best)
            continue;
        best = major_of(found.gl_pathv[i]);
        snprintf(out, size, "%s", found.gl_pathv[i]);
    }
    globfree(&found);
    return best >= 0;
}

// Finds the first folder of PATH that holds a server.
static bool find_in_path(char *out, size_t size)
{
    const char *path = getenv("PATH");

    while (path && *path) {
        size_t len = strcspn(path, ":");
        if (len > 0 && len < size) {
            memcpy(out, path, len);
            out[len] = '\0';
            if (holds_server(out))
                return true;
        }
        path += len + (path[len] == ':');
    }
    return false;
}

bool template_bindir(char *out, size_t size, struct err *e)
{
    const char *told = getenv("PG_BINDIR");

    if (told && *told) {
        snprintf(out, size, "%s", told);
        return holds_server(out) ||
               err_set(e, ERR_USAGE, "PG_BINDIR=%s holds no initdb and postgres", told);
    }
    return find_in_packages(out, size) || find_in_path(out, size) ||
           err_set(e, ERR_SKIP,
               "no PostgreSQL server programs (initdb, postgres) in /usr/lib/postgresql/*/bin or "
               "PATH: install the package postgresql or set PG_BINDIR");
}

static bool run_initdb(
    const char *bindir, const char *data, const struct server_user *user, struct err *e)
{
    char program[PATH_MAX], text[800];

    if (!path_join(program, bindir, "initdb", e))
        return false;
    // C collation and UTF-8, so that the server is the same on every machine. `trust` is safe here,
    // because the socket lies in a folder that only this user may enter.
    const char *argv[] = {program, "--pgdata", data, "--username", "mailproof", "--auth", "trust",
        "--encoding", "UTF8", "--no-locale", NULL};
    return process_run(argv, user->uid, user->gid, text, sizeof text, e);
}

// Makes the path of the template in the cache folder `dir`: one for each server version, format and
// user. False when `postgres` does not tell its version.
static bool cache_path(
    char out[PATH_MAX], const char *dir, const char *bindir, const struct server_user *user)
{
    char program[PATH_MAX], version[128], name[300];
    struct err ignored;

    if (!path_join(program, bindir, "postgres", &ignored))
        return false;
    const char *argv[] = {program, "--version", NULL};
    if (!process_run(argv, (uid_t)-1, 0, version, sizeof version, &ignored))
        return false;
    // The version's text becomes part of a file's name.
    for (char *c = version; *c; c++) {
        if (strchr(" /()", *c))
            *c = '-';
    }
    snprintf(name, sizeof name, "%s-%d-%u", version, TEMPLATE_FORMAT, (unsigned)user->uid);
    return path_join(out, dir, name, &ignored);
}

// Copies the folder `from` to `to`. `to` may exist if it is empty.
static bool copy_tree(const char *from, const char *to, struct err *e)
{
    char inside[PATH_MAX], text[800];
    const char *argv[] = {"cp", "-a", "--reflink=auto", inside, to, NULL};

    return path_join(inside, from, ".", e) && process_run(argv, (uid_t)-1, 0, text, sizeof text, e);
}

// Stores the template in the cache, if possible. Another run may do the same at the same time;
// rename lets one of them win.
static void store_template(const char *data, const char *cached)
{
    char fresh[PATH_MAX];
    struct err ignored;

    int len = snprintf(fresh, sizeof fresh, "%s.%d", cached, (int)getpid());
    if (len < 0 || len >= (int)sizeof fresh)
        return;
    if (!copy_tree(data, fresh, &ignored) || rename(fresh, cached) != 0)
        workdir_remove_tree(fresh);
}

// True for a name that ends with ".<pid>". The name of a finished template ends with "-<uid>".
static bool is_unfinished(const char *name)
{
    const char *point = strrchr(name, '.');

    return point && point[1] && point[1 + strspn(point + 1, "0123456789")] == '\0';
}

// Storing a template takes a second, so an unfinished one that is an hour old is abandoned. The pid
// in its name proves nothing: another process may have that pid by now, and so may one in another
// container.
void template_sweep(const char *cache)
{
    DIR *dir = opendir(cache);
    struct dirent *entry;

    while (dir && (entry = readdir(dir)) != NULL) {
        char path[PATH_MAX];
        struct stat st;
        struct err ignored;
        if (is_unfinished(entry->d_name) && path_join(path, cache, entry->d_name, &ignored) &&
            lstat(path, &st) == 0 && S_ISDIR(st.st_mode) && time(NULL) - st.st_mtime > UNFINISHED_S)
            workdir_remove_tree(path);
    }
    if (dir)
        closedir(dir);
}

bool template_copy(
    const char *bindir, const char *data, const struct server_user *user, struct err *e)
{
    char cache[PATH_MAX], cached[PATH_MAX];
    bool cacheable = path_cache(cache) && cache_path(cached, cache, bindir, user);

    if (cacheable)
        template_sweep(cache);
    // The folder belongs to us until cp has filled it and gives it the template's owner. So nobody
    // can put a link there that root would follow. (In a folder of block_group_mkdir, ext4 makes
    // new files faster.)
    if (cacheable && path_exists(cached))
        return block_group_mkdir(data, geteuid(), getegid(), e) && copy_tree(cached, data, e);
    if (!block_group_mkdir(data, user->uid, user->gid, e))
        return false;
    if (!run_initdb(bindir, data, user, e))
        return false;
    if (cacheable)
        store_template(data, cached);
    return true;
}

bool template_checksums(
    const char *bindir, const char *data, const struct server_user *user, struct err *e)
{
    char program[PATH_MAX], text[800];

    if (!path_join(program, bindir, "pg_checksums", e))
        return false;
    const char *argv[] = {program, "--enable", "--no-sync", "--pgdata", data, NULL};
    // Newer versions of initdb turn checksums on by themselves, and pg_checksums then refuses.
    return process_run(argv, user->uid, user->gid, text, sizeof text, e) ||
           strstr(e->text, "already enabled");
}
