// Turns a phase's rate into the times at which transactions come.
//
// Constant and random arrivals are both made in "rate time", in which one transaction comes per
// unit. The inverse of the phase's cumulative rate converts rate time to the clock, so a ramp is no
// special case. Constant arrivals are at 0.5, 1.5, 2.5 and so on: the first comes half a gap after
// the phase begins, so the gap between two phases of one rate is as long as the others. Poisson
// arrivals are the sums of exponential gaps.
//
// The times of a trace are taken as they are. The arrivals of a closed loop are all at its phase's
// start, and there should be more of them than the loop can need.
#pragma once

#include "plan/rng.h"
#include "scenario/scenario.h"

// The rate at which a closed loop is planned, in tokens per second: more than a server is expected
// to commit. If the server commits more, the load ends before its phase does.
#define ARRIVALS_CLOSED_PER_S 50000

struct arrivals_source {
    struct rng rng;
    enum arrivals kind;
    double from, to; // transactions per second at the phase's two ends
    double seconds;  // the phase's length
    double expected; // average number of arrivals in the phase
    double position; // the last arrival, in rate time
    const struct load_phase *phase;
    size_t taken; // number of arrivals that were returned so far; trace and closed loop only
};

// Begins the arrivals of a phase. Random ones are drawn from `rng`, of which it keeps a copy.
void arrivals_init(struct arrivals_source *a, const struct load_phase *phase, struct rng rng);

// Fills in the time of the next arrival, in ns from the phase's start. False when the phase has no
// further arrival.
bool arrivals_next(struct arrivals_source *a, int64_t *at_ns);
