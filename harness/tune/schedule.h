// Which pairs to run again: until each is known well enough, or cannot be the
// one to take any more. Pure, so that it can be tried on simulated noise.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "scenario/scenario.h"

// What the runs of one pair have shown; borrowed. Runs that were inconclusive
// are among `tried` only.
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
    SCHEDULE_MISSES,   // the objective, for certain
    SCHEDULE_BROKEN,   // once is enough
    SCHEDULE_GIVEN_UP, // as many runs as may be, or the machine too busy for any
};

enum schedule_state schedule_state(const struct schedule *s, size_t pair);

// For people: "precise enough".
const char *schedule_state_name(enum schedule_state state);

// The pairs to run next, once each, in an order that has nothing to do with the
// grid's, so that what drifts on the machine is not taken for an effect of the
// pair; but those of which nothing is known yet come first. Returns how many; 0:
// nothing is left to be learnt.
size_t schedule_round(const struct schedule *s, uint64_t seed, uint64_t round, size_t *order);
