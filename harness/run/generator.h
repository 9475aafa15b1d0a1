// The load of a run: the generator in a thread of its own, or workers in its place.
#pragma once

#include <pthread.h>

#include "load/load.h"
#include "load/remote.h"

struct generator {
    struct buf conninfo;
    struct load_config config;
    struct load_progress progress;
    struct load_result result;
    struct remote *workers; // the workers that send the load; NULL: this process sends it
    pthread_t thread;
    bool started;
    atomic_bool done;
    bool ok; // true: the load went well; like err it is known when the thread has ended
    struct err err;
};

// Inserts the tokens that wait when the collector starts, and returns when they are committed;
// false if not all of them are. g->conninfo must be set.
MUST_USE bool generator_backlog(
    struct generator *g, const struct scenario *s, const struct plan *plan, struct err *e);

// Starts a worker for each command of `list`, in which commas stand between the commands. Does
// nothing if `list` is NULL.
MUST_USE bool generator_open_workers(struct generator *g, const char *list,
    const struct scenario *s, const struct plan *plan, struct err *e);

// Starts the load in a thread of its own, or lets the workers send it.
MUST_USE bool generator_start(struct generator *g, const struct load_config *config, struct err *e);

// Waits until the load is over. Returns false when it failed.
MUST_USE bool generator_join(struct generator *g, struct err *e);

// Ends the thread at any stage; the records stay until generator_fini.
void generator_stop(struct generator *g);
void generator_fini(struct generator *g);
