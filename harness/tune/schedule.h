// Chooses the pairs to run again, until each is known well enough or cannot be recommended any
// more. Pure, so that tests can use simulated noise.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "scenario/scenario.h"

// The measurements of one pair; borrowed. Only `tried` counts inconclusive runs.
struct schedule_pair {
    const double *values; // of the objective's metric, or latency.p99
    const double *p99;    // ms
    const double *tokens; // per batch
    size_t count;
    size_t tried;
    bool broken; // breaks an invariant
};

struct schedule {
    const struct schedule_pair *pairs;
    size_t count;
    const struct expectation *objective; // NULL: none
    double precision;                    // 0.1: until the interval reaches ± 10%
    size_t runs_min, runs_max;           // of each pair
};

enum schedule_state {
    SCHEDULE_OPEN,
    SCHEDULE_PRECISE,
    SCHEDULE_BEATEN,   // another has larger batches and a lower p99, for certain
    SCHEDULE_MISSES,   // misses the objective, for certain
    SCHEDULE_BROKEN,   // broke an invariant, at least once
    SCHEDULE_GIVEN_UP, // had runs_max runs, or the machine is too busy for a conclusive one
};

enum schedule_state schedule_state(const struct schedule *s, size_t pair);

// Returns the state in words: "precise enough".
const char *schedule_state_name(enum schedule_state state);

// Lists the pairs to run next, once each. Pairs without any measurement come first; otherwise the
// order is random, so that a pair does not look slow only because the machine became slower.
// Returns the number of pairs; 0 when enough is known.
size_t schedule_round(const struct schedule *s, uint64_t seed, uint64_t round, size_t *order);
