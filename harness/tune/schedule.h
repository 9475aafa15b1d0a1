// Chooses the pairs to run again, until each pair is known well enough or can no longer be
// recommended. Pure, so that tests can use simulated noise.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "scenario/scenario.h"

// The measurements of one pair; borrowed. Inconclusive runs are only counted in `tried`.
struct schedule_pair {
    const double *values; // values of the objective's metric, or of latency.p99
    const double *p99;    // latency, ms
    const double *tokens; // tokens per batch
    size_t count;
    size_t tried;
    bool left_out; // true: it is not run
    bool broken;   // true: the pair breaks an invariant
};

struct schedule {
    const struct schedule_pair *pairs;
    size_t count;
    const struct expectation *objective; // NULL: there is no objective
    double precision;                    // wanted precision; 0.1: until the interval reaches ± 10%
    size_t runs_min, runs_max;           // least and largest number of runs of each pair
};

enum schedule_state {
    SCHEDULE_OPEN,
    SCHEDULE_PRECISE,
    SCHEDULE_BEATEN, // for certain, another pair has larger batches and a lower p99
    SCHEDULE_MISSES, // it misses the objective for certain
    SCHEDULE_BROKEN, // it broke an invariant at least once
    SCHEDULE_LEFT_OUT,
    SCHEDULE_GIVEN_UP, // it had runs_max runs, or the machine is too busy for a conclusive run
};

enum schedule_state schedule_state(const struct schedule *s, size_t pair);

// Returns the state in words, such as "precise enough".
const char *schedule_state_name(enum schedule_state state);

// Lists the pairs to run next, each of them once. Pairs without any measurement come first.
// Otherwise the order is random, so that no pair looks slow only because the machine became slower.
// Returns the number of pairs; 0 when enough is known.
size_t schedule_round(const struct schedule *s, uint64_t seed, uint64_t round, size_t *order);
