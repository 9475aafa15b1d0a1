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

// Calls `tick` at once and then every period; due_ns is when the call was due. After a call that
// takes longer than a period, the next call follows at once, and missed calls are not made up for.
// The ticker must keep its address while the thread runs.
bool ticker_start(struct ticker *t, int64_t period_ns, void (*tick)(void *arg, int64_t due_ns),
    void *arg, struct err *e) MUST_USE;

// Waits for a call that is under way and joins the thread. Returns false when no thread was
// running, as in a zeroed ticker.
bool ticker_stop(struct ticker *t);

// --- stalls.c ----------------------------------------------------------------------
//
// Records when a loop of the harness stood still because it woke late or one of its rounds took
// long. The caller measures the times.

// A loop that stands still for less than this is at work and not stalled.
#define STALLS_LEAST_NS INT64_C(5000000)

struct stall {
    int64_t from_ns, until_ns; // from_ns first, to be sorted by
};

// A zeroed struct is empty. Only one thread may write it. Its owner calls stalls_fini.
struct stalls {
    size_t count; // number of all stalls; may be more than kept_count, because a worker and a
                  // history may keep only the first ones
    int64_t longest_ns;
    int64_t total_ns;
    struct stall *kept; // owned; in the order of time
    size_t kept_count;
};

// Notes a stall: the loop should have gone on at from_ns and went on at until_ns.
void stalls_note(struct stalls *s, int64_t from_ns, int64_t until_ns);

// Adds a stall to those that are kept, but does not count it.
void stalls_keep(struct stalls *s, struct stall stall);

void stalls_fini(struct stalls *s);
