#include "os/ticker.h"

#include <time.h>

// Sleeps until due_ns. Returns false when the ticker is to stop.
static bool ticker_sleep_until(struct ticker *t, int64_t due_ns)
{
    const struct timespec due = {.tv_sec = due_ns / NS_PER_S, .tv_nsec = due_ns % NS_PER_S};
    int error;

    do
        error = sem_clockwait(&t->stop, CLOCK_MONOTONIC, &due);
    while (error != 0 && errno == EINTR);
    return error != 0; // ETIMEDOUT: due_ns has come, and nobody stopped the ticker
}

// The ticker's thread: calls `tick` at its times until ticker_stop.
static void *run_ticker(void *arg)
{
    struct ticker *t = arg;
    int64_t due_ns = clock_now_ns();

    while (ticker_sleep_until(t, due_ns)) {
        t->tick(t->arg, due_ns);
        // After a tick that took too long, the next one is due at once, and no tick is made up for.
        due_ns = clock_max(due_ns + t->period_ns, clock_now_ns());
    }
    return NULL;
}

bool ticker_start(struct ticker *t, int64_t period_ns, void (*tick)(void *arg, int64_t due_ns),
    void *arg, struct err *e)
{
    *t = (struct ticker){.period_ns = period_ns, .tick = tick, .arg = arg};
    sem_init(&t->stop, 0, 0);
    t->running = pthread_create(&t->thread, NULL, run_ticker, t) == 0;
    return t->running || err_set(e, ERR_SYSTEM, "cannot start a thread");
}

bool ticker_stop(struct ticker *t)
{
    if (!t->running)
        return false;
    sem_post(&t->stop);
    pthread_join(t->thread, NULL);
    sem_destroy(&t->stop);
    t->running = false;
    return true;
}
