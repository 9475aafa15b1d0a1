// Turns a phase's rate into the times at which transactions come.
//
// Both kinds of arrivals are made in "rate time", where one transaction comes per unit, and
// converted to the clock through the inverse of the phase's cumulative rate; so a ramp is no
// special case. Constant arrivals are at 0.5, 1.5, 2.5 and so on: the first comes half a gap after
// the phase begins, so the gap between two phases of one rate is as long as the others. Poisson
// arrivals are the sums of exponential gaps. A trace's times are taken as they are; a closed loop's
// arrivals are all at its phase's start, more of them than it can need.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "plan/rng.h"
#include "scenario/scenario.h"

// The rate at which a closed loop is planned, in tokens per second: more than one
// server commits.
#define ARRIVALS_CLOSED_PER_S 50000

struct arrivals_source {
    struct rng rng;
    enum arrivals kind;
    double from, to; // transactions per second at the phase's two ends
    double seconds;  // the phase's length
    double expected; // how many come in the phase, on average
    double position; // of the last arrival, in rate time
    const struct load_phase *phase;
    size_t taken; // of a trace's times
};

void arrivals_init(struct arrivals_source *a, const struct load_phase *phase, struct rng rng);

// Gives the time of the next one in ns from the phase's start; false when the phase is over.
bool arrivals_next(struct arrivals_source *a, int64_t *at_ns);
