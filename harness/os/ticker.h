// Calls a function every so often from a thread of its own, until it is told to stop.
#pragma once

#include <pthread.h>
#include <semaphore.h>

#include "base/base.h"

struct ticker {
    pthread_t thread;
    sem_t stop;
    bool running;
    int64_t period_ns;
    void (*tick)(void *arg, int64_t due_ns);
    void *arg;
};

// Calls `tick` at once and then every period. After a call that takes longer than a period, the
// next call follows at once, and missed calls are not made up for. The ticker must keep its address
// while the thread runs.
bool ticker_start(struct ticker *t, int64_t period_ns, void (*tick)(void *arg, int64_t due_ns),
    void *arg, struct err *e) MUST_USE;

// Waits for a call that is under way and joins the thread. Returns false when no thread was
// running, as in a zeroed ticker.
bool ticker_stop(struct ticker *t);
