// Child processes. Each is started with argv, never through a shell, in a process group of its own.
// So a Ctrl-C reaches only the harness, and the harness decides in which order to end the others.
//
// If the harness dies, the kernel kills its children, but not their children, such as the program
// behind a shell script. These end only by a signal to the group, so they outlive a harness that is
// killed with SIGKILL.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"

// How to start a child. The standard streams are descriptors that the caller keeps; -1: /dev/null.
struct process_spec {
    const char *const *argv; // argv[0] is looked up in PATH when it has no '/'
    const char *const *env;  // NULL-terminated NAME=value; NULL: our environment, of which another
                             // user gets only what child_env.h says
    const char *dir;         // working directory; NULL: ours
    uid_t uid; // user of the child, which then gives up root, for good (no_new_privs);
               // (uid_t)-1: ours
    gid_t gid;
    int net; // descriptor of a network namespace that the child enters; -1: ours
    int in, out, err;
    int death_signal; // signal that the kernel sends to the child when the thread that started it
                      // ends; 0: none
};

#define PROCESS_SPEC_INIT                                                                          \
    {                                                                                              \
        .uid = (uid_t)-1, .gid = (gid_t)-1, .net = -1, .in = -1, .out = -1, .err = -1              \
    }

// Starts a child. Returns its pid, or -1 with the reason; a failed exec also counts as a failure.
MUST_USE pid_t process_start(const struct process_spec *spec, struct err *e);

// Runs a program to its end and collects its output into `text` (cut at its size, trimmed). Fails
// (ERR_SYSTEM) unless it exits with 0. uid as in process_spec.
MUST_USE bool process_run(
    const char *const *argv, uid_t uid, gid_t gid, char *text, size_t size, struct err *e);

// As process_run, but with identity, environment, namespace, folder (default /) and death signal of
// `spec`. Its streams are set here.
MUST_USE bool process_collect(
    const struct process_spec *spec, char *text, size_t size, struct err *e);

// Waits until a child of ours has ended, and reaps it. False when the deadline (clock_now_ns)
// passed first.
bool process_wait(pid_t pid, int64_t deadline_ns, int *status);

// Ends a child: sends `signal`, and SIGKILL if the child still runs after grace_ns; reaps it.
void process_end(pid_t pid, int signal, int64_t grace_ns);

// Sends a signal to the group of a child that nobody has waited for, and to the child itself where
// it has joined another group. Returns whether the signal reached a process.
bool process_signal_group(pid_t leader, int signal);

// Finds the children of a process in /proc, at most max. Returns how many it found.
size_t process_children(pid_t parent, pid_t *pids, size_t max);

// Returns the pid that the process has in its innermost pid namespace, such as a container's; 0:
// the process is gone.
pid_t process_inner_pid(pid_t pid);

bool process_alive(pid_t pid);

// Figures of a process that process_stat reads from /proc. It returns false when the process is
// gone or hidden.
struct process_stat {
    char state; // R, S, D, T (stopped), Z (not yet reaped), as in proc(5)
    pid_t parent, group;
    uint64_t cpu_ms;            // CPU time of all its threads since its start, user and system
    uint64_t ended_children_ms; // CPU time of its descendants that have ended and been reaped
    int64_t rss_kb;
    uint64_t started; // time of its start, in clock ticks since the boot
};

bool process_stat(pid_t pid, struct process_stat *out);

// Reads a small file under /proc/PID; the text ends with NUL. False when it cannot be read.
bool process_file(pid_t pid, const char *name, char *text, size_t size);

// Returns how many descriptors the process has open; 0: unknown.
size_t process_descriptors(pid_t pid);

// Returns the process's anonymous memory (RssAnon), which no other process shares, in kB; 0: not
// visible.
int64_t process_own_kb(pid_t pid);

// Returns the start of a process, in clock ticks since the boot; 0: not visible. Pid and start
// together identify a process, because the kernel uses pids again.
uint64_t process_started(pid_t pid);

// True when the pid still belongs to the process that started at that time.
bool process_is(pid_t pid, uint64_t started);

// Waits until a process that got SIGSTOP has really stopped; the signal alone
// says nothing. False when it is gone, or at the deadline.
bool process_wait_stopped(pid_t pid, int64_t deadline_ns);

// Waits in the same way for every process in the process group of a child of ours.
bool process_wait_group_stopped(pid_t leader, int64_t deadline_ns);

// Makes us the parent of our descendants that become orphans. So we can wait for the backends of a
// killed server.
void process_adopt_orphans(void);
