#include "os/postmasters.h"

#include <glob.h>
#include <signal.h>
#include <sys/stat.h>
#include <time.h>

#include "os/paths.h"
#include "os/process.h"
#include "os/segments.h"

#define NOTES "postmasters"
#define CHILDREN_MAX 1024

static const int64_t end_limit_ns = 10 * NS_PER_S;
static const useconds_t poll_us = 10000;

struct note {
    pid_t pid;
    uint64_t started; // its start, as process_started returns it; 0: not known
    time_t noted;     // time of day of the note, or of the start in a lock file
};

bool postmasters_note(const char *dir, pid_t pid, struct err *e)
{
    char path[PATH_MAX];

    if (!path_join(path, dir, NOTES, e))
        return false;
    FILE *file = fopen(path, "ae");
    bool ok = file && fprintf(file, "%d %" PRIu64 " %lld\n", (int)pid, process_started(pid),
                          (long long)time(NULL)) > 0;
    if (file)
        ok = fclose(file) == 0 && ok;
    return ok || err_sys(e, ERR_SYSTEM, "cannot write %s", path);
}

// Reads the next note. False at the end of the file, or at a line that is no note.
static bool next_note(FILE *file, struct note *n)
{
    long long noted;
    int pid;

    if (fscanf(file, "%d %" SCNu64 " %lld", &pid, &n->started, &noted) != 3 || pid <= 1)
        return false;
    n->pid = (pid_t)pid;
    n->noted = (time_t)noted;
    return true;
}

static FILE *open_notes(const char *dir)
{
    char path[PATH_MAX];
    struct err ignored;

    return path_join(path, dir, NOTES, &ignored) ? fopen(path, "re") : NULL;
}

// Returns the span of time in which the noted server had its pid. The span begins a second before
// the note, because segments have their times in whole seconds, and a postmaster may have made one
// before it was noted. If another process has the pid now, the span ends when that process started.
static struct segments_maker maker_of(const struct note *n)
{
    uint64_t started = process_started(n->pid);
    int64_t ticks_per_s = sysconf(_SC_CLK_TCK);
    bool is_other = started > 0 && started != n->started;
    time_t boot = (time_t)((clock_wall_ns() - clock_boot_ns()) / NS_PER_S);

    return (struct segments_maker){.pid = n->pid,
        .since = n->noted - 1,
        .until = is_other ? boot + (time_t)started / ticks_per_s : INT64_MAX};
}

// Removes the shared memory of a dead postmaster. Waits up to 10 s for its backends, which end a
// little later than a postmaster that was killed.
static void remove_memory(const struct note *n)
{
    const struct segments_maker maker = maker_of(n);
    int64_t deadline_ns = clock_now_ns() + end_limit_ns;

    while (!segments_remove(&maker) && clock_now_ns() < deadline_ns)
        usleep(poll_us);
}

void postmasters_remove_memory(const char *dir, pid_t pid)
{
    FILE *file = open_notes(dir);
    struct note n;

    while (file && next_note(file, &n)) {
        if (n.pid == pid)
            remove_memory(&n);
    }
    if (file)
        fclose(file);
}

// Returns the user that the process runs as; (uid_t)-1: the process is gone.
static uid_t user_of(pid_t pid)
{
    char text[PROCESS_STATUS_MAX];
    const char *value = process_status(pid, "Uid", text);

    return value ? (uid_t)strtoul(value, NULL, 10) : (uid_t)-1;
}

// Kills a server: the postmaster first, so that no further child starts. The children are the
// processes that have the postmaster's memory attached. So they are found even if they are stopped
// and have not noticed its end. Kills only processes of the server's user, because that user can
// write any pid into a lock file.
static void kill_server(const struct note *n, uid_t owner)
{
    const struct segments_maker maker = maker_of(n);
    pid_t pids[CHILDREN_MAX];

    if (n->started > 0 && user_of(n->pid) == owner && process_started(n->pid) == n->started)
        kill(n->pid, SIGKILL);
    size_t count = segments_users(&maker, pids, CHILDREN_MAX);
    for (size_t i = 0; i < count; i++) {
        if (user_of(pids[i]) == owner)
            kill(pids[i], SIGKILL);
    }
}

// Reads a lock file. Line 1 is the pid, line 3 the time of day of the start.
static bool read_lock_file(const char *data_dir, struct note *n)
{
    char path[PATH_MAX];
    long long noted;
    int pid;
    struct err ignored;
    FILE *file = path_join(path, data_dir, "postmaster.pid", &ignored) ? fopen(path, "re") : NULL;
    bool ok = file && fscanf(file, "%d %*[^\n] %lld", &pid, &noted) == 2 && pid > 1;

    if (file)
        fclose(file);
    if (ok)
        *n = (struct note){.pid = (pid_t)pid, .noted = (time_t)noted};
    return ok;
}

// True when the process works in this data folder, as the folder's server does. Another process
// that got the same pid later does not.
static bool works_in(pid_t pid, const char *dir)
{
    char link[64], cwd[PATH_MAX], real[PATH_MAX];

    snprintf(link, sizeof link, "/proc/%d/cwd", (int)pid);
    ssize_t len = readlink(link, cwd, sizeof cwd - 1);
    cwd[len > 0 ? len : 0] = '\0';
    return len > 0 && realpath(dir, real) && strcmp(cwd, real) == 0;
}

void postmasters_clear(const char *data_dir)
{
    struct stat st;
    struct note n;

    if (lstat(data_dir, &st) != 0 || !read_lock_file(data_dir, &n))
        return;
    // Without a start time kill_server spares the process, which has the pid only by chance.
    if (works_in(n.pid, data_dir))
        n.started = process_started(n.pid);
    kill_server(&n, st.st_uid);
    remove_memory(&n);
}

// Clears up after the servers of the data folders whose lock files match `where`, below `dir`.
static void clear_below(const char *dir, const char *where)
{
    char pattern[PATH_MAX];
    glob_t found = {0};
    struct err ignored;

    if (!path_join(pattern, dir, where, &ignored) || glob(pattern, GLOB_NOSORT, NULL, &found) != 0)
        return;
    for (size_t i = 0; i < found.gl_pathc; i++) {
        *strrchr(found.gl_pathv[i], '/') = '\0';
        postmasters_clear(found.gl_pathv[i]);
    }
    globfree(&found);
}

void postmasters_sweep(const char *dir, uid_t user)
{
    FILE *file = open_notes(dir);
    struct note n;

    while (file && next_note(file, &n)) {
        kill_server(&n, user);
        remove_memory(&n);
    }
    if (file)
        fclose(file);
    // Our own data folders lie in the workdir itself, those of Patroni's servers below its `run`.
    clear_below(dir, "*/postmaster.pid");
    clear_below(dir, "run/*/postmaster.pid");
}
