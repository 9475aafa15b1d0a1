#include "stop.h"

#include <signal.h>
#include <time.h>

#include "base/base.h"

static volatile sig_atomic_t signalled;

static void handle(int signal)
{
    (void)signal;
    signalled = 1;
}

void stop_install(void)
{
    struct sigaction action = {.sa_handler = handle};
    sigset_t set;

    sigemptyset(&set);
    sigaddset(&set, SIGTERM);
    sigaddset(&set, SIGINT);
    sigprocmask(SIG_BLOCK, &set, NULL);
    sigaction(SIGTERM, &action, NULL);
    sigaction(SIGINT, &action, NULL);
    // SIGPIPE is ignored, so when the reader is gone, write() fails instead.
    signal(SIGPIPE, SIG_IGN);
}

bool stop_requested(void)
{
    return signalled != 0;
}

// Returns the deadline; after TERM or INT at the latest the end of the process's last 900 ms, which
// count from the first call after the signal.
static int64_t shorten(int64_t deadline_ns)
{
    static int64_t last_ns = CLOCK_NEVER;

    if (signalled && last_ns == CLOCK_NEVER)
        last_ns = clock_now_ns() + 900 * NS_PER_MS;
    return clock_min(deadline_ns, last_ns);
}

bool stop_expired(int64_t deadline_ns)
{
    return clock_now_ns() >= shorten(deadline_ns);
}

bool stop_poll(struct pollfd *fds, nfds_t count, int64_t deadline_ns)
{
    int64_t until_ns = shorten(deadline_ns);
    int64_t left_ns = until_ns - clock_now_ns();
    struct timespec left = {.tv_sec = left_ns / NS_PER_S, .tv_nsec = left_ns % NS_PER_S};
    sigset_t open; // no signal is blocked during the sleep

    if (left_ns < 0)
        left = (struct timespec){0};
    sigemptyset(&open);
    return ppoll(fds, count, until_ns == CLOCK_NEVER ? NULL : &left, &open) > 0;
}
