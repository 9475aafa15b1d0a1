// mailproof-leash PROGRAM [ARGUMENT…]: runs a program and everything that it starts as if they were
// one machine. SIGTERM to the leash is that machine's power switch: all the processes die at once,
// even those that became daemons. The same happens when the leash's own parent dies, because the
// kernel then sends the leash SIGTERM (process.h).
//
// Patroni starts its PostgreSQL as a daemon, so neither a process group nor the kernel's death
// signal reaches it. The leash is a subreaper: it becomes the parent of every orphaned descendant,
// and so finds them all.
//
// After SIGUSR1 the leash survives its parent (--keep). It exits when it has no descendants any
// more: with 0 after SIGTERM or SIGINT, otherwise with 1, also when the program cannot be executed.
// It exits with 127 when the system has no process for the program.
//
// All other signals are blocked. The kernel sends SIGHUP to a process group that loses its last
// parent in the session while a member is stopped. So a parent's death could end the leash after it
// has stopped its descendants and before it kills them, and a server in a group of its own would
// stay behind, stopped.
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "os/process.h"

static const int64_t stop_limit_ns = 5 * NS_PER_S;
static const useconds_t look_again_us = 1000;

// Stops all descendants. Returns how many there are; the caller frees *family. A stopped process
// starts no child, so when a look finds the same processes as the one before, all of them stand
// still.
static size_t freeze_family(pid_t **family)
{
    bool same;
    size_t count = process_descendants(getpid(), family);

    do {
        pid_t *before FREED_BY(memory_free) = *family;
        size_t before_count = count;
        for (size_t i = 0; i < count; i++) {
            kill(before[i], SIGSTOP);
            process_wait_stopped(before[i], clock_now_ns() + stop_limit_ns);
        }
        count = process_descendants(getpid(), family);
        same = count == before_count &&
               (count == 0 || memcmp(*family, before, count * sizeof *before) == 0);
    } while (!same);
    return count;
}

// Reaps the children that have ended. Returns true when no child is left.
static bool reap_children(void)
{
    pid_t pid;

    do
        pid = waitpid(-1, NULL, WNOHANG);
    while (pid > 0 || (pid < 0 && errno == EINTR));
    return pid < 0 && errno == ECHILD;
}

// Kills and reaps all descendants. Those whose parent dies become children of the leash, so it
// reaps them, too. A process that starts another and ends at once may escape a look, so this looks
// until nobody is left.
static void kill_family(void)
{
    for (;;) {
        pid_t *family FREED_BY(memory_free) = NULL;
        size_t count = freeze_family(&family);
        for (size_t i = 0; i < count; i++)
            kill(family[i], SIGKILL);
        if (reap_children())
            return;
        usleep(look_again_us);
    }
}

// Starts the program with no signal blocked. The kernel kills it when the leash dies. Returns its
// pid; -1: there is no new process.
static pid_t start_child(char **argv)
{
    sigset_t none;
    pid_t pid = fork();

    if (pid != 0)
        return pid;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    execvp(argv[0], argv);
    fprintf(stderr, "mailproof-leash: cannot start %s: %s\n", argv[0], strerror(errno));
    _exit(127);
}

// Handles the signals until no descendant is left. Returns the exit code of the leash.
static int watch_child(const sigset_t *signals)
{
    for (;;) {
        int signal = sigwaitinfo(signals, NULL);
        if (signal == SIGUSR1)
            prctl(PR_SET_PDEATHSIG, 0); // survive the parent
        if (signal == SIGTERM || signal == SIGINT) {
            kill_family();
            return 0;
        }
        if (signal == SIGCHLD && reap_children())
            return 1;
    }
}

int main(int argc, char **argv)
{
    sigset_t signals, all;

    if (argc < 2) {
        fputs("usage: mailproof-leash PROGRAM [ARGUMENT...]\n", stderr);
        return 64; // EX_USAGE of sysexits.h
    }
    sigemptyset(&signals);
    sigaddset(&signals, SIGTERM);
    sigaddset(&signals, SIGINT);
    sigaddset(&signals, SIGCHLD);
    sigaddset(&signals, SIGUSR1);
    // Block the signals before the child exists, so that none is lost before watch_child waits for
    // it.
    sigfillset(&all);
    sigprocmask(SIG_BLOCK, &all, NULL);
    // Descendants whose parents have died become children of this process, and so can be ended.
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    if (start_child(argv + 1) < 0) {
        perror("mailproof-leash");
        return 127;
    }
    return watch_child(&signals);
}
