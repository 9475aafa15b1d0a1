// A small query ten times a second beside the run, on a connection of its own: it shows how fast
// the server answers, and whether the harness itself gets to run. A probe that commits shows how
// long the server's flush takes.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

struct probe_sample {
    int64_t due_ns;
    int64_t stall_ns; // how late it began, with the time for a new connection or a failed try
    int64_t took_ns;  // until its answer; CLOCK_NEVER: there was none
};

struct probe;

// The probe's queries: a value without any work, and a commit that must be flushed.
#define PROBE_ANSWER "SELECT 1"
#define PROBE_FLUSH "SELECT (pg_logical_emit_message(true, 'mailproof', '') IS NOT NULL)::int"

// Starts a thread; without a connection it keeps trying. `sql`, whose answer is
// one value, must outlive the probe.
MUST_USE struct probe *probe_start(const char *conninfo, const char *sql, struct err *e);

// Ends the thread; a query under way is waited for.
void probe_stop(struct probe *p);

// Returns the samples after probe_stop, in the order of time; they live until probe_free.
const struct probe_sample *probe_samples(const struct probe *p, size_t *count);

void probe_free(struct probe *p);
