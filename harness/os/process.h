// Child processes. Each is started with argv, never through a shell, in a process group of its own.
// So a Ctrl-C reaches only the harness, and the harness decides in which order to end the children.
//
// If the harness dies, the kernel kills those of its children that have a death signal, but not
// their children, such as the program behind a shell script. These end only when the harness
// signals the group, so they outlive a harness that is killed with SIGKILL.
#pragma once

#include <sys/types.h>

#include "base/base.h"

// How to start a child. The standard streams are descriptors that the caller keeps; -1: /dev/null.
struct process_spec {
    const char *const *argv; // argv[0] is looked up in PATH when it has no '/'
    const char *const *env;  // NULL-terminated NAME=value; NULL: the caller's environment or, for
                             // another user, only the part that child_env.h allows
    const char *dir;         // working directory; NULL: the caller's
    uid_t uid; // user of the child, which then cannot become root again (no_new_privs); (uid_t)-1:
               // the caller's
    gid_t gid; // its group; does not count without `uid`
    int net;   // descriptor of a network namespace that the child enters; -1: the caller's
    int in, out, err;
    int death_signal; // signal that the kernel sends to the child when the thread that started it
                      // ends; 0: none
};

#define PROCESS_SPEC_INIT                                                                          \
    {                                                                                              \
        .uid = (uid_t)-1, .gid = (gid_t)-1, .net = -1, .in = -1, .out = -1, .err = -1              \
    }

// Starts a child. Returns its pid, or -1 with the reason in e, also when exec failed.
MUST_USE pid_t process_start(const struct process_spec *spec, struct err *e);

// Runs a program to its end and collects its output in `text`, cut to `size` and without blanks at
// its end. Fails (ERR_SYSTEM) unless it exits with 0. uid and gid as in process_spec.
MUST_USE bool process_run(
    const char *const *argv, uid_t uid, gid_t gid, char *text, size_t size, struct err *e);

// As process_run, but as `spec` says: user, environment, namespace, folder (default: /) and death
// signal. The output streams of `spec` are ignored.
MUST_USE bool process_collect(
    const struct process_spec *spec, char *text, size_t size, struct err *e);

// The status of a process that cannot be waited for. By WIFEXITED and WIFSIGNALED of wait(2) it
// neither exited nor was killed.
#define PROCESS_STATUS_UNKNOWN (-1)

// Waits until a child of this process has ended, and reaps it. False when the deadline
// (clock_now_ns) passed first. Returns true also when there is nothing to wait for, because the
// process was reaped before or is no child of this process; *status is then PROCESS_STATUS_UNKNOWN.
// `status` may be NULL.
bool process_wait(pid_t pid, int64_t deadline_ns, int *status);

// Ends a child: sends `signal`, and SIGKILL if the child still runs after grace_ns; reaps it.
void process_end(pid_t pid, int signal, int64_t grace_ns);

// Sends a signal to the process group of a child that was not reaped yet, and also to the child
// itself if it has joined another group. Returns whether the signal reached a process.
bool process_signal_group(pid_t leader, int signal);

// Finds all processes in one look at /proc. Returns how many there are. free() *pids, which is NULL
// for none.
size_t process_all(pid_t **pids);

// Finds the children of a process in /proc, at most max. Returns how many it found.
size_t process_children(pid_t parent, pid_t *pids, size_t max);

// Finds all descendants of a process in one look at /proc, parents before their children. Returns
// how many there are. free() *pids, which is NULL for none. While processes start and end, some may
// be missing.
size_t process_descendants(pid_t ancestor, pid_t **pids);

// Finds the processes that a thread has started. Returns how many there are; 0 also where the
// kernel does not tell. free() *children, which is NULL for none.
size_t process_thread_children(pid_t pid, const char *tid, pid_t **children);

// Returns the pid that the process has in its innermost pid namespace, such as a container's; 0:
// the process is gone.
pid_t process_inner_pid(pid_t pid);

// True also for a process that has ended and was not reaped yet.
bool process_alive(pid_t pid);

// Figures of a process, which process_stat reads from /proc. process_stat returns false when the
// process is gone or hidden.
struct process_stat {
    char state; // R, S, D, T (stopped), Z (not yet reaped), as in proc(5)
    pid_t parent, group;
    uint64_t cpu_ms;            // CPU time of all its threads since its start, user and system
    uint64_t ended_children_ms; // CPU time of its descendants that have ended and been reaped
    int64_t rss_kb;
    uint64_t started; // time of its start, in clock ticks since the boot
};

bool process_stat(pid_t pid, struct process_stat *out);

// Reads a small file under /proc/PID; the text ends with NUL. False when it cannot be read or
// is empty.
bool process_file(pid_t pid, const char *name, char *text, size_t size);

// Reads /proc/PID/status into `text`. Returns the value of a key such as "Uid", which points into
// `text`; NULL: the process is gone, or its file has no such key.
#define PROCESS_STATUS_MAX 16384 // a user may be in hundreds of groups
const char *process_status(pid_t pid, const char *key, char text[PROCESS_STATUS_MAX]);

// Returns how many descriptors the process has open; 0: unknown.
size_t process_descriptors(pid_t pid);

// Returns the process's resident memory without files and shared memory (RssAnon), in kB; 0: not
// visible.
int64_t process_own_kb(pid_t pid);

// Returns the start of a process, in clock ticks since the boot; 0: not visible. Pid and start
// together identify a process, because the kernel reuses pids.
uint64_t process_started(pid_t pid);

// True when the pid still belongs to the process that started at that time.
bool process_is(pid_t pid, uint64_t started);

// Waits until a process that got SIGSTOP has really stopped. Returns false when the process is gone
// or the deadline has passed.
bool process_wait_stopped(pid_t pid, int64_t deadline_ns);

// Waits until every process in the group of a child has stopped, as process_wait_stopped does for
// one. Processes of the group that have ended do not matter, except the child itself.
bool process_wait_group_stopped(pid_t leader, int64_t deadline_ns);

// Makes this process the parent of all its descendants that become orphans, so that it can wait for
// the backends of a killed server.
void process_adopt_orphans(void);
