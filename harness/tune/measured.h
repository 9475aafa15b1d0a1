// Collects the measurements of a pair's runs, and compares the model with them. Pure.
#pragma once

#include <jansson.h>

#include "compare/compare.h"
#include "ledger/ledger.h"
#include "tune/queries.h"
#include "tune/schedule.h"
#include "tune/tune.h"

// --- what the model uses ----------------------------------------------------------------

// What the model needs from a measured run: when the run's tokens were inserted, and how long the
// collector's queries took.
struct recording {
    int64_t *arrivals_ns; // owned; when the commit of each delivered token was acknowledged, ns
                          // since the start of the load, sorted
    size_t count;
    int64_t length_ns; // length of the load
    struct queries queries;
};

// Makes the recording of a run with one collector and without faults. For any other run it becomes
// empty, because the lines of such a run do not show how long a query took.
void recording_take(struct recording *r, const struct ledger *l);
void recording_fini(struct recording *r);

// --- what was measured ---------------------------------------------------------------

struct measurement {
    struct stored run;
    struct tune_cost cost;
    struct recording recording;
    bool counts_trips; // true: the run went through a proxy that counts round trips; its other
                       // figures are left out, because the proxy slows it
};

// Reads the cost from a result.json. Without `local`, backend_cpu_ms is NAN, because the processes
// of a remote server cannot be seen.
struct tune_cost cost_of(const json_t *result, bool local);

#define MEASURED_MAX 100

struct measured {
    struct measurement *items; // owned, including what the items own
    size_t count;
    double judged[MEASURED_MAX]; // values of the objective's metric, or of latency.p99
    double p99[MEASURED_MAX], tokens[MEASURED_MAX]; // ms, and tokens per batch
    size_t used; // number of conclusive runs, each of which has a value in the three arrays
    bool broken; // true: a run broke an invariant that is not about time
};

// Adds a measurement and takes over everything that it owns, even on failure. False when
// there are MEASURED_MAX measurements already.
MUST_USE bool measured_add(struct measured *o, struct measurement *item,
    const struct expectation *objective, struct err *e);
void measured_fini(struct measured *o);

// Returns what the schedule needs to know of the pair; valid until the next measured_add.
struct schedule_pair measured_schedule(const struct measured *o);

// Fills in the pair's medians, precision and numbers of runs.
void measured_summarise(const struct measured *o, struct tune_pair *p);

// Adds the query times of the conclusive runs of all pairs except number `except` (`except` >=
// count: of all pairs), then calls queries_ready.
void measured_queries(struct queries *q, const struct measured *all, size_t count, size_t except);

// Simulates each conclusive run of each pair and fills in the model's figures and errors. The
// simulation uses the run's own arrivals but the query times of the other pairs, because the pair's
// own query times would make any model fit. A pair without a suitable run gets NAN. Without query
// times of other pairs, a pair keeps the figures that it had.
MUST_USE bool measured_model(
    const struct measured *all, struct tune *t, uint64_t seed, struct err *e);
