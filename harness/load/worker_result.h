// The message that a worker sends when it is done: a line with figures, its stalls, and a record
// for each transaction of its part, in the order of the plan. The numbers after the line are eight
// bytes long, the lowest byte first.
#pragma once

#include <pthread.h>

#include "load/channel.h"
#include "load/remote.h"

#define WORKER_GREETING "mailproof-load 3" // a worker's first line, with the protocol's version
#define WORKER_FILE_MAX (512u << 20)       // largest file that a run may send
#define WORKER_SCENARIO "scenario.yaml"

// Sends the result: what load_run has recorded of the worker's part. c->part.of must not be 0.
MUST_USE bool worker_result_send(struct channel *p, const struct load_config *c,
    const struct load_result *result, struct err *e);

// Where a worker's result goes. All pointers are borrowed.
struct worker_result_target {
    const struct load_config *config;
    struct load_part part;      // the worker's part of the plan
    struct remote_clock clock;  // the worker's clock
    struct load_result *result; // the merged result of all workers
    pthread_mutex_t *lock;      // guards everything in the result but this worker's records
};

// Reads a result whose first line is `line`. Stores each record at its place in the result, with
// its times moved to the run's clock, and adds the figures.
MUST_USE bool worker_result_take(
    struct channel *p, const char *line, const struct worker_result_target *to, struct err *e);
