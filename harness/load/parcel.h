// A worker sends a parcel when it is done: a line with figures, its stalls, and a record
// for each transaction of its part, in the order of the plan. Numbers are eight bytes,
// the lowest first.
#pragma once

#include <pthread.h>

#include "load/post.h"
#include "load/remote.h"

#define PARCEL_GREETING "mailproof-load 2"

MUST_USE bool parcel_send(struct post *p, const struct load_config *c,
    const struct remote_part *part, const struct load_result *result, struct err *e);

// Where a worker's parcel goes. Everything is borrowed.
struct parcel_target {
    const struct load_config *config;
    struct remote_part part;    // the worker's
    struct remote_clock clock;  // the worker's
    struct load_result *result; // of all workers
    pthread_mutex_t *lock;      // guards what is not a record of this part
};

// `line` is the first line. Stores each record at its place in the result, with times of our clock,
// and adds the figures.
MUST_USE bool parcel_take(
    struct post *p, const char *line, const struct parcel_target *to, struct err *e);
