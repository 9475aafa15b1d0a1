// Child processes: started with argv, never through a shell; each in a process
// group of its own, so that a Ctrl-C reaches the harness alone and the harness
// decides the order of the end; killed by the kernel should the harness die.
//
// The kernel kills the child alone. Processes that the child has started, such as the program
// behind a shell script, end only by a signal to the group; they outlive a harness that is killed
// with SIGKILL.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"

// How to start a child. Its standard streams are descriptors that stay the caller's; -1: /dev/null.
struct process_spec {
    const char *const *argv; // argv[0] is looked up in PATH when it has no '/'
    const char *const *env;  // NULL-terminated NAME=value; NULL: ours
    const char *dir;         // working directory; NULL: ours
    uid_t uid;               // (uid_t)-1: ours; else the child gives up root
    gid_t gid;
    int net; // descriptor of a network namespace that the child enters; -1: ours
    int in, out, err;
    int death_signal; // what the kernel sends when our starting thread ends; 0: none
};

#define PROCESS_SPEC_INIT                                                                          \
    {                                                                                              \
        .uid = (uid_t)-1, .gid = (gid_t)-1, .net = -1, .in = -1, .out = -1, .err = -1              \
    }

// Returns the child's pid, or -1 with the reason, a failing exec included.
MUST_USE pid_t process_start(const struct process_spec *spec, struct err *e);

// Runs a program to its end and collects its output into `text` (cut at its size, trimmed). Fails
// (ERR_SYSTEM) unless it exits with 0. uid as in process_spec.
MUST_USE bool process_run(
    const char *const *argv, uid_t uid, gid_t gid, char *text, size_t size, struct err *e);

// The same with identity, environment, namespace, folder (/ unless it names one) and
// death signal as `spec` says; its streams are set here.
MUST_USE bool process_collect(
    const struct process_spec *spec, char *text, size_t size, struct err *e);

// Waits until the process is gone or the deadline (clock_now_ns) has passed;
// true when it is gone. It must be a child of ours; it is reaped.
bool process_wait(pid_t pid, int64_t deadline_ns, int *status);

// Ends a child: `signal`, then SIGKILL after grace_ns; reaps it.
void process_end(pid_t pid, int signal, int64_t grace_ns);

// Finds the children of a process, from /proc; at most max. Returns how many.
size_t process_children(pid_t parent, pid_t *pids, size_t max);

// Returns the pid of the process in the innermost pid namespace that it is in, such as a
// container's; 0: it is gone.
pid_t process_inner_pid(pid_t pid);

bool process_alive(pid_t pid);

// Reads a process's figures from /proc; false when it is gone or hidden.
struct process_stat {
    char state; // R, S, D, T (stopped), Z (not yet reaped), as in proc(5)
    pid_t parent, group;
    uint64_t cpu_ms;            // of all its threads since its start, user and system
    uint64_t ended_children_ms; // the same of its children that have ended, and of theirs
    int64_t rss_kb;
    uint64_t started; // in clock ticks since the boot
};

bool process_stat(pid_t pid, struct process_stat *out);

// Reads a small file under /proc/PID; the text ends with NUL. False when it cannot be read.
bool process_file(pid_t pid, const char *name, char *text, size_t size);

// Returns how many descriptors the process has open; 0: unknown.
size_t process_descriptors(pid_t pid);

// Returns its anonymous memory (RssAnon), which no other process shares, in kB; 0: not visible.
int64_t process_own_kb(pid_t pid);

// Returns its start, in clock ticks since the boot; 0: not visible. Pid and start together identify
// a process, because pids are used again.
uint64_t process_started(pid_t pid);

// True when the pid still names the process that started then.
bool process_is(pid_t pid, uint64_t started);

// Waits until a process that got SIGSTOP has really stopped; the signal alone
// says nothing. False when it is gone, or at the deadline.
bool process_wait_stopped(pid_t pid, int64_t deadline_ns);

// Does the same for every process in the process group of a child of ours.
bool process_wait_group_stopped(pid_t leader, int64_t deadline_ns);

// Makes orphans of our children ours, so that we can wait for a killed server's backends.
void process_adopt_orphans(void);
