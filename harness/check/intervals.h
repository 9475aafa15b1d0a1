// Cuts the run into steps of equal length, and the load into its phases, for files and charts that
// show the run over time.
#pragma once

#include "check/stages.h"

struct interval {
    int64_t from_ns, length_ns; // from_ns counts from the start of the load
    const char *phase;          // the phase's name; NULL: the interval is a step of the run
    uint64_t intended;          // tokens planned for the interval; of a closed loop: sent in it
    uint64_t committed;         // tokens acknowledged in the interval
    uint64_t delivered;         // tokens delivered for the first time in the interval
    uint64_t lines;             // whole lines read in the interval; 0 for a phase
    int64_t backlog; // at the interval's end: committed tokens that must still be delivered; 0 for
                     // a phase
    struct histogram *from_intended, *from_commit; // latencies of the delivered tokens, ns
    struct stage_times stages; // sums over the tokens in from_intended; 0 for a phase
};

typedef void intervals_use(void *arg, const struct interval *interval);

// Calls `use` for every step of step_ns until the end of the drain, in order.
void intervals_each_step(const struct ledger *l, int64_t step_ns, intervals_use *use, void *arg);

// Calls `use` for every phase, in order; the figures of a phase are those of the tokens planned in
// it.
void intervals_each_phase(const struct ledger *l, intervals_use *use, void *arg);
