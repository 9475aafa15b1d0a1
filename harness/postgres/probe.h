// A small query ten times a second beside the run, on a connection of its own:
// how fast the server answers, and whether the harness itself gets to run.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

struct probe_sample {
    int64_t due_ns;
    int64_t stall_ns; // how much later it was begun
    int64_t took_ns;  // until its answer; CLOCK_NEVER: there was none
};

struct probe;

// Starts a thread; without a connection it keeps trying.
MUST_USE struct probe *probe_start(const char *conninfo, struct err *e);

// Ends the thread; a query under way is waited for.
void probe_stop(struct probe *p);

// After probe_stop, in the order of time; the probe's until probe_free.
const struct probe_sample *probe_samples(const struct probe *p, size_t *count);

void probe_free(struct probe *p);
