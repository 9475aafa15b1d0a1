#include "os/interrupt.h"

#include <signal.h>
#include <stdatomic.h>
#include <time.h>

// The handler writes these, and any thread may read them.
static atomic_int pending;  // the signal that interrupts; 0: none
static atomic_int asked;    // the signal that asks for an end; 0: none
static atomic_int deferred; // the first signal only asks
static atomic_int at_once;  // base of the exit code of interrupt_exit_at_once; 0: off

// The signal handler: ends the program at once, or asks for an end, or interrupts all waits.
static void remember_signal(int signal)
{
    if (at_once)
        _exit(at_once + signal);
    if (deferred && !asked)
        asked = signal;
    else
        pending = signal;
}

void interrupt_install(void)
{
    struct sigaction sa = {.sa_handler = remember_signal}, before;

    sigemptyset(&sa.sa_mask);
    sigaction(SIGINT, &sa, NULL);
    sigaction(SIGTERM, &sa, NULL);
    // Under nohup, HUP is ignored, so that the program outlives its terminal.
    if (sigaction(SIGHUP, NULL, &before) == 0 && before.sa_handler != SIG_IGN)
        sigaction(SIGHUP, &sa, NULL);
    sa.sa_handler = SIG_IGN;
    sigaction(SIGPIPE, &sa, NULL);
    // If CHLD were ignored, the kernel would reap our children, and their exit codes would be lost.
    sa.sa_handler = SIG_DFL;
    sigaction(SIGCHLD, &sa, NULL);
}

int interrupt_signal(void)
{
    return pending;
}

void interrupt_defer(bool on)
{
    deferred = on;
    if (!on && asked && !pending)
        pending = asked;
}

void interrupt_exit_at_once(int code)
{
    at_once = code;
}

int interrupt_asked(void)
{
    return asked;
}

bool interrupt_sleep_until(int64_t deadline_ns)
{
    // Sleep in steps: a signal may be delivered to another thread, and then it does not wake this
    // one.
    const int64_t step_ns = 20 * NS_PER_MS;

    for (;;) {
        int64_t left = deadline_ns - clock_now_ns();
        if (interrupt_signal())
            return false;
        if (left <= 0)
            return true;
        int64_t nap = clock_min(left, step_ns);
        struct timespec t = {.tv_sec = nap / NS_PER_S, .tv_nsec = nap % NS_PER_S};
        nanosleep(&t, NULL);
    }
}

bool interrupt_sleep(int64_t ns, struct err *e)
{
    return interrupt_sleep_until(clock_now_ns() + ns) || err_set(e, ERR_INTERRUPTED, "interrupted");
}
