// Collects the measurements of a pair's runs. Pure.
#pragma once

#include "compare/compare.h"
#include "tune/recording.h"
#include "tune/schedule.h"
#include "tune/tune.h"

struct measurement {
    struct stored run;
    struct tune_cost cost;
    struct recording recording;
    bool counted; // only round trips were counted in it: a proxy slows the rest
};

#define MEASURED_MAX 100

struct measured {
    struct measurement *items; // owned, with what they own
    size_t count;
    double judged[MEASURED_MAX], p99[MEASURED_MAX], tokens[MEASURED_MAX];
    size_t used; // how many values these have: one for each conclusive run
    bool broken;
};

// Takes over what the measurement owns, even when it fails. It fails when there are more than
// MEASURED_MAX.
MUST_USE bool measured_add(struct measured *o, struct measurement *item,
    const struct expectation *objective, struct err *e);
void measured_fini(struct measured *o);

// Returns the pair's data for the schedule; valid until the next measured_add.
struct schedule_pair measured_schedule(const struct measured *o);

// Fills in a pair's medians.
void measured_summarise(const struct measured *o, struct tune_pair *p);

// Adds the query times of all pairs but one (`but` == count: of all) and sorts them.
MUST_USE bool measured_queries(
    struct queries *q, const struct measured *all, size_t count, size_t but, struct err *e);

// Simulates each run of a pair from its own arrivals and the query times of the other pairs,
// because its own would explain nothing, and fills in the error of the model. A pair without a
// suitable run keeps NAN.
MUST_USE bool measured_model(
    const struct measured *all, struct tune *t, uint64_t seed, struct err *e);
