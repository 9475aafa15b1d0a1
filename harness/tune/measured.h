// Collects the measurements of a pair's runs. Pure.
#pragma once

#include <jansson.h>

#include "compare/compare.h"
#include "ledger/ledger.h"
#include "tune/queries.h"
#include "tune/schedule.h"
#include "tune/tune.h"

// --- what the model uses ----------------------------------------------------------------

// The data of a measured run that the model uses: when its tokens came, and how long its queries
// took.
struct recording {
    int64_t *arrivals_ns; // owned; when each delivered token was acknowledged, in order
    size_t count;
    int64_t length_ns; // length of the load
    struct queries queries;
};

// Records a run with one collector and without faults. The recording of any other run stays empty,
// because its lines do not show how long a query took.
MUST_USE bool recording_take(struct recording *r, const struct ledger *l, struct err *e);
void recording_fini(struct recording *r);

// --- what was measured ---------------------------------------------------------------

struct measurement {
    struct stored run;
    struct tune_cost cost;
    struct recording recording;
    bool counted; // true: it only counts round trips, because its proxy slows everything else
};

// Reads the cost from a result.json. Without `local`, backend_cpu_ms is NAN, because the processes
// of a remote server cannot be seen.
struct tune_cost cost_of(const json_t *result, bool local);

#define MEASURED_MAX 100

struct measured {
    struct measurement *items; // owned, with everything that the items own
    size_t count;
    double judged[MEASURED_MAX], p99[MEASURED_MAX], tokens[MEASURED_MAX];
    size_t used; // number of values in the arrays below: one for each conclusive run
    bool broken;
};

// Takes over everything that the measurement owns, even when it fails. It fails when there are more
// than MEASURED_MAX measurements.
MUST_USE bool measured_add(struct measured *o, struct measurement *item,
    const struct expectation *objective, struct err *e);
void measured_fini(struct measured *o);

// Returns the pair's data for the schedule; valid until the next measured_add.
struct schedule_pair measured_schedule(const struct measured *o);

// Fills in a pair's medians.
void measured_summarise(const struct measured *o, struct tune_pair *p);

// Adds the query times of all pairs except number `but` (`but` == count: of all pairs) and sorts
// them.
MUST_USE bool measured_queries(
    struct queries *q, const struct measured *all, size_t count, size_t but, struct err *e);

// Simulates each run of a pair and fills in the error of the model. A simulation uses the run's own
// arrivals and the query times of the other pairs, because the pair's own query times would make
// any model fit. A pair without a suitable run keeps NAN.
MUST_USE bool measured_model(
    const struct measured *all, struct tune *t, uint64_t seed, struct err *e);
