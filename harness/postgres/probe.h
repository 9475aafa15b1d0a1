// Sends a small query ten times a second during the run, on a connection of its own. It shows how
// fast the server answers, and whether the harness itself gets a processor. A probe that commits
// shows how long the server's flush takes.
#pragma once

#include "base/base.h"

struct probe_sample {
    int64_t due_ns;
    int64_t stall_ns; // how late the query began, including the time to connect or to fail at that
    int64_t took_ns;  // time until the answer; CLOCK_NEVER: there was none
};

struct probe;

// The queries of probes: one that returns a value without any work, and one that commits and so
// must be flushed. The latter stores the sample's number, so that the table shows later which
// commits the server has lost.
#define PROBE_ANSWER "SELECT $1::int"
#define PROBE_TABLE "mailproof_probe"
#define PROBE_MAKE_TABLE                                                                           \
    "DROP TABLE IF EXISTS " PROBE_TABLE "; CREATE TABLE " PROBE_TABLE " (n int NOT NULL)"
#define PROBE_FLUSH "INSERT INTO " PROBE_TABLE " VALUES ($1::int) RETURNING 1"

// Starts the probe's thread, which connects and, when that fails, tries again with each sample.
// `sql` takes the sample's number, counted from 0, as its parameter, and returns one row. It must
// outlive the probe. NULL with the reason.
MUST_USE struct probe *probe_start(const char *conninfo, const char *sql, struct err *e);

// Ends the thread, when the query that is under way has ended.
void probe_stop(struct probe *p);

// Returns the samples after probe_stop, in the order of time; they live until probe_free.
const struct probe_sample *probe_samples(const struct probe *p, size_t *count);

// Stops the probe first. Accepts NULL.
void probe_free(struct probe *p);
