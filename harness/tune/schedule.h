// Chooses the pairs to run next, until each pair is known well enough or can no longer be
// recommended. Pure, so that tests can use simulated noise.
#pragma once

#include "scenario/scenario.h"

// The measurements of one pair; the arrays are borrowed and hold one value for each conclusive run.
struct schedule_pair {
    const double *values; // of the objective's metric; without an objective, of latency.p99
    const double *p99;    // latency p99, ms
    const double *tokens; // tokens per batch
    size_t count;
    size_t tried;  // number of runs, including inconclusive ones
    bool left_out; // true: the pair is not to be run
    bool broken;   // true: some run of the pair broke an invariant that is not about time
};

struct schedule {
    const struct schedule_pair *pairs;
    size_t count;
    const struct expectation *objective; // NULL: there is no objective
    double precision;                    // the precision_share that is wanted; 0.1: run until the
                                         // interval is within ± 10%
    size_t runs_min, runs_max;           // least and largest number of runs of each pair;
                                         // runs_min <= runs_max
};

enum schedule_state {
    SCHEDULE_OPEN,
    SCHEDULE_PRECISE,
    SCHEDULE_BEATEN, // another pair, which can be recommended, certainly has larger batches and a
                     // lower p99
    SCHEDULE_MISSES, // the pair certainly misses the objective
    SCHEDULE_BROKEN,
    SCHEDULE_LEFT_OUT,
    SCHEDULE_GIVEN_UP, // the pair was still open after runs_max runs, or the machine is too busy
                       // for a conclusive run
};

// Returns the state of a pair; only an open pair is to be run again.
enum schedule_state schedule_state(const struct schedule *s, size_t pair);

// Returns the state in words, such as "precise enough".
const char *schedule_state_name(enum schedule_state state);

// Writes the numbers of the pairs to run next to `order`, each once. Pairs without a conclusive run
// come first. Otherwise the order is random, so that no pair looks slow only because the machine
// became slower. Returns the number of pairs; 0 when no pair is open.
size_t schedule_round(const struct schedule *s, uint64_t seed, uint64_t round, size_t *order);
