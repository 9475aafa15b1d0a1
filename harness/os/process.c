#include "os/process.h"

#include <dirent.h>
#include <ctype.h>
#include <fcntl.h>
#include <grp.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "os/child_env.h"
#include "os/paths.h"

#define GROUP_MAX 256                 // most processes of a group that are waited for
#define CHILDREN_TEXT_MAX (64u << 20) // more than the digits of all pids

// How often a wait looks again. Waits poll, so that each thread can wait for its own child with a
// deadline of its own.
static const useconds_t wait_step_us = 2000;

// Sets up the child's streams. Everything between fork and exec may make only async-signal-safe
// calls, because other threads may have held locks at the moment of the fork.
static void child_streams(const struct process_spec *spec)
{
    int null = open("/dev/null", O_RDWR);
    const int from[3] = {spec->in, spec->out, spec->err};

    for (int i = 0; i < 3; i++)
        dup2(from[i] >= 0 ? from[i] : null, i);
    if (null > 2)
        close(null);
}

static bool gives_up_root(const struct process_spec *spec)
{
    return spec->uid != (uid_t)-1 && spec->uid != geteuid();
}

// Gives up root for the user in spec, with no way back. Does nothing if spec names no other user.
static bool give_up_root(const struct process_spec *spec)
{
    if (!gives_up_root(spec))
        return true;
    return setgroups(0, NULL) == 0 && setgid(spec->gid) == 0 && setuid(spec->uid) == 0 &&
           prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0;
}

// Restores the defaults, because ignored signals and the signal mask would survive exec.
static void child_signals(void)
{
    sigset_t none;

    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    signal(SIGHUP, SIG_DFL);
    signal(SIGPIPE, SIG_DFL);
    signal(SIGINT, SIG_DFL);
    signal(SIGTERM, SIG_DFL);
}

// Runs in the child after the fork. When exec fails, sends errno through the pipe `report`.
static _Noreturn void run_child(const struct process_spec *spec, int report, pid_t parent)
{
    setpgid(0, 0);
    child_signals();
    child_streams(spec);
    // The child enters the namespace while it is still root.
    if (spec->net >= 0 && setns(spec->net, CLONE_NEWNET) != 0)
        goto failed;
    if (!give_up_root(spec) || (spec->dir && chdir(spec->dir) != 0))
        goto failed;
    // The death signal is set after the change of the user, which would clear it.
    if (spec->death_signal) {
        prctl(PR_SET_PDEATHSIG, spec->death_signal);
        // A parent that died before that call sends no signal any more.
        if (getppid() != parent)
            _exit(127);
    }
    if (spec->env)
        execvpe(spec->argv[0], (char *const *)spec->argv, (char *const *)spec->env);
    else
        execvp(spec->argv[0], (char *const *)spec->argv);
failed:;
    int reason = errno;
    ssize_t ignored = write(report, &reason, sizeof reason);
    (void)ignored;
    _exit(127);
}

// Starts a child, and waits until its exec has succeeded or failed. Returns its pid; -1 on failure.
static pid_t start_process(const struct process_spec *spec, struct err *e)
{
    int report[2]; // a pipe: it brings errno when exec fails; a successful exec closes it
    pid_t parent = getpid();

    if (pipe2(report, O_CLOEXEC) != 0) {
        err_sys(e, ERR_SYSTEM, "cannot make a pipe");
        return -1;
    }
    pid_t pid = fork();
    if (pid == 0)
        run_child(spec, report[1], parent);
    close(report[1]);
    if (pid < 0) {
        err_sys(e, ERR_SYSTEM, "cannot start %s", spec->argv[0]);
        close(report[0]);
        return -1;
    }
    // Child and parent both make the child's group, so that it exists whichever of them runs first.
    setpgid(pid, pid);

    int reason = 0;
    ssize_t got;
    do
        got = read(report[0], &reason, sizeof reason);
    while (got < 0 && errno == EINTR);
    close(report[0]);
    if (got == (ssize_t)sizeof reason) {
        waitpid(pid, NULL, 0);
        errno = reason;
        err_sys(e, ERR_SYSTEM, "cannot start %s", spec->argv[0]);
        return -1;
    }
    return pid;
}

pid_t process_start(const struct process_spec *spec, struct err *e)
{
    struct child_env allowed;

    // Another user must not get root's environment, which it could read in /proc.
    if (spec->env || !gives_up_root(spec))
        return start_process(spec, e);
    child_env_init(&allowed);
    struct process_spec limited = *spec;
    limited.env = (const char *const *)allowed.items;
    pid_t pid = start_process(&limited, e);
    child_env_fini(&allowed);
    return pid;
}

// Reads until the other end is closed, and keeps the beginning, without blanks at its end.
static void collect_output(int fd, char *text, size_t size)
{
    size_t used = 0;
    char rest[4096];

    for (;;) {
        // Read on even when the text is full: a program that writes to a full pipe would hang.
        bool fits = used + 1 < size;
        ssize_t got = fits ? read(fd, text + used, size - used - 1) : read(fd, rest, sizeof rest);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            break;
        if (fits)
            used += (size_t)got;
    }
    while (used > 0 && isspace((unsigned char)text[used - 1]))
        used--;
    if (size > 0)
        text[used] = '\0';
}

bool process_run(
    const char *const *argv, uid_t uid, gid_t gid, char *text, size_t size, struct err *e)
{
    struct process_spec spec = PROCESS_SPEC_INIT;

    spec.argv = argv;
    spec.uid = uid;
    spec.gid = gid;
    spec.death_signal = SIGKILL;
    return process_collect(&spec, text, size, e);
}

// Fails with the program's output, whose lines are joined with bars.
static bool program_failed(const char *program, const char *output, struct err *e)
{
    char line[sizeof e->text];

    snprintf(line, sizeof line, "%s", output);
    for (char *p = line; (p = strchr(p, '\n'));)
        *p = '|';
    return err_set(e, ERR_SYSTEM, "%s failed: %s", program, line);
}

bool process_collect(const struct process_spec *what, char *text, size_t size, struct err *e)
{
    struct process_spec spec = *what;
    int out[2];

    if (pipe2(out, O_CLOEXEC) != 0)
        return err_sys(e, ERR_SYSTEM, "cannot make a pipe");
    spec.out = out[1];
    spec.err = out[1];
    spec.dir = what->dir ? what->dir : "/";
    pid_t pid = process_start(&spec, e);
    close(out[1]);
    if (pid < 0) {
        close(out[0]);
        return false;
    }
    collect_output(out[0], text, size);
    close(out[0]);

    int status;
    // A program that has closed its output may still work, and its exit code is the answer.
    process_wait(pid, CLOCK_NEVER, &status);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
        return true;
    return program_failed(spec.argv[0], size > 0 ? text : "", e);
}

bool process_wait(pid_t pid, int64_t deadline_ns, int *status)
{
    for (;;) {
        pid_t got = waitpid(pid, status, WNOHANG);
        if (got == pid)
            return true;
        if (got < 0 && errno == ECHILD) {
            if (status)
                *status = PROCESS_STATUS_UNKNOWN;
            return true;
        }
        if (clock_now_ns() >= deadline_ns)
            return false;
        usleep(wait_step_us);
    }
}

void process_end(pid_t pid, int signal, int64_t grace_ns)
{
    if (pid <= 0)
        return;
    kill(pid, signal);
    if (process_wait(pid, clock_now_ns() + grace_ns, NULL))
        return;
    kill(pid, SIGKILL);
    process_wait(pid, CLOCK_NEVER, NULL);
}

bool process_file(pid_t pid, const char *name, char *text, size_t size)
{
    char path[320];

    snprintf(path, sizeof path, "/proc/%d/%s", (int)pid, name);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return false;
    ssize_t got = read(fd, text, size - 1);
    close(fd);
    text[got > 0 ? got : 0] = '\0';
    return got > 0;
}

// Reads /proc/PID/stat. The program's name, in parentheses, may itself hold blanks and parentheses,
// so the fields begin after the last ')'.
bool process_stat(pid_t pid, struct process_stat *out)
{
    unsigned long long user, system, children_user, children_system, started;
    char line[1024];
    long long pages;
    int parent, group;

    if (!process_file(pid, "stat", line, sizeof line))
        return false;
    const char *fields = strrchr(line, ')');
    // These are the fields of proc(5) from the third, the state, to the 24th, the resident pages.
    if (!fields || sscanf(fields,
                       ") %c %d %d %*d %*d %*d %*u %*u %*u %*u %*u %llu %llu %llu %llu %*d %*d "
                       "%*d %*d %llu %*u %lld",
                       &out->state, &parent, &group, &user, &system, &children_user,
                       &children_system, &started, &pages) != 9)
        return false;
    out->parent = (pid_t)parent;
    out->group = (pid_t)group;
    out->cpu_ms = (user + system) * 1000 / (unsigned long long)sysconf(_SC_CLK_TCK);
    out->ended_children_ms =
        (children_user + children_system) * 1000 / (unsigned long long)sysconf(_SC_CLK_TCK);
    out->rss_kb = pages * (sysconf(_SC_PAGESIZE) / 1024);
    out->started = started;
    return true;
}

size_t process_descriptors(pid_t pid)
{
    char path[64];
    size_t count = 0;
    struct dirent *entry;

    snprintf(path, sizeof path, "/proc/%d/fd", (int)pid);
    DIR *dir = opendir(path);
    while (dir && (entry = readdir(dir)) != NULL)
        count += entry->d_name[0] != '.';
    if (dir)
        closedir(dir);
    return count;
}

const char *process_status(pid_t pid, const char *key, char text[PROCESS_STATUS_MAX])
{
    char begins[32];

    snprintf(begins, sizeof begins, "\n%s:", key);
    char *line =
        process_file(pid, "status", text, PROCESS_STATUS_MAX) ? strstr(text, begins) : NULL;
    if (!line)
        return NULL;
    line += strlen(begins);
    line[strcspn(line, "\n")] = '\0';
    return line;
}

int64_t process_own_kb(pid_t pid)
{
    char text[PROCESS_STATUS_MAX];
    const char *value = process_status(pid, "RssAnon", text);

    return value ? strtoll(value, NULL, 10) : 0;
}

uint64_t process_started(pid_t pid)
{
    struct process_stat stat;

    return process_stat(pid, &stat) ? stat.started : 0;
}

bool process_is(pid_t pid, uint64_t started)
{
    uint64_t now = process_started(pid);

    // Where /proc hides other users' processes, the start is unknown (0), and the pid alone must
    // do.
    return process_alive(pid) && (now == 0 || now == started);
}

bool process_wait_stopped(pid_t pid, int64_t deadline_ns)
{
    struct process_stat stat;

    while (process_stat(pid, &stat) && stat.state != 'Z') {
        if (stat.state == 'T')
            return true;
        if (clock_now_ns() >= deadline_ns)
            return false;
        usleep(wait_step_us / 20); // a process stops much sooner than it ends
    }
    return false;
}

size_t process_all(pid_t **pids)
{
    DIR *proc = opendir("/proc");
    size_t count = 0;
    struct dirent *entry;

    *pids = NULL;
    while (proc && (entry = readdir(proc)) != NULL) {
        pid_t pid = (pid_t)strtol(entry->d_name, NULL, 10);
        if (pid <= 0)
            continue;
        memory_grow(pids, count, 1, sizeof **pids);
        (*pids)[count++] = pid;
    }
    if (proc)
        closedir(proc);
    return count;
}

// Finds the processes with this parent and in this group; -1: any. Stores at most `max` pids.
static size_t find_processes(pid_t parent, pid_t group, pid_t *pids, size_t max)
{
    pid_t *all FREED_BY(memory_free) = NULL;
    size_t all_count = process_all(&all), count = 0;
    struct process_stat stat;

    for (size_t i = 0; i < all_count && count < max; i++) {
        if (process_stat(all[i], &stat) && (parent < 0 || stat.parent == parent) &&
            (group < 0 || stat.group == group))
            pids[count++] = all[i];
    }
    return count;
}

size_t process_children(pid_t parent, pid_t *pids, size_t max)
{
    return find_processes(parent, -1, pids, max);
}

size_t process_descendants(pid_t ancestor, pid_t **pids)
{
    pid_t *all FREED_BY(memory_free) = NULL;
    size_t all_count = process_all(&all), count = 0, next = 0;
    pid_t *parents FREED_BY(memory_free) = memory_zeroed(all_count, sizeof *parents);
    struct process_stat stat;

    *pids = NULL;
    for (size_t i = 0; i < all_count; i++)
        parents[i] = process_stat(all[i], &stat) ? stat.parent : -1; // -1: it has ended meanwhile
    // Add the children of the ancestor, and then those of each process that was added.
    for (pid_t parent = ancestor;; parent = (*pids)[next++]) {
        for (size_t i = 0; i < all_count; i++) {
            if (parents[i] != parent)
                continue;
            memory_grow(pids, count, 1, sizeof **pids);
            (*pids)[count++] = all[i];
        }
        if (next == count)
            return count;
    }
}

size_t process_thread_children(pid_t pid, const char *tid, pid_t **children)
{
    struct buf text FREED_BY(buf_fini) = BUF_INIT(CHILDREN_TEXT_MAX);
    char path[320];
    size_t count = 0;
    long child;
    struct err ignored;

    *children = NULL;
    snprintf(path, sizeof path, "/proc/%d/task/%s/children", (int)pid, tid);
    if (!path_read(path, &text, ERR_SYSTEM, &ignored))
        return 0;
    for (char *p = text.data, *end; (child = strtol(p, &end, 10)) > 0; p = end) {
        memory_grow(children, count, 1, sizeof **children);
        (*children)[count++] = (pid_t)child;
    }
    return count;
}

bool process_signal_group(pid_t leader, int signal)
{
    bool reached = kill(-leader, signal) == 0;

    if (getpgid(leader) != leader)
        reached = kill(leader, signal) == 0 || reached;
    return reached;
}

// First waits for the leader. When the leader has stopped, every process of the group has got the
// signal, so none of them can start another.
bool process_wait_group_stopped(pid_t leader, int64_t deadline_ns)
{
    pid_t pids[GROUP_MAX];

    if (!process_wait_stopped(leader, deadline_ns))
        return false;
    size_t count = find_processes(-1, leader, pids, GROUP_MAX);
    for (size_t i = 0; i < count; i++) {
        // process_wait_stopped also fails for a process that has ended, which is as good.
        if (!process_wait_stopped(pids[i], deadline_ns) && clock_now_ns() >= deadline_ns)
            return false;
    }
    return true;
}

pid_t process_inner_pid(pid_t pid)
{
    char text[PROCESS_STATUS_MAX];
    // The pids in each namespace, from the outermost to the innermost, each after a tab.
    const char *value = process_status(pid, "NSpid", text);

    return value ? (pid_t)strtol(strrchr(value, '\t') + 1, NULL, 10) : 0;
}

bool process_alive(pid_t pid)
{
    return pid > 0 && (kill(pid, 0) == 0 || errno == EPERM);
}

void process_adopt_orphans(void)
{
    prctl(PR_SET_CHILD_SUBREAPER, 1);
}
