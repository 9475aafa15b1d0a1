// Counts what the draws so far have covered: which faults met which state of the collector's
// connection, which faults overlapped, and in which modes faults were drawn. Pure.
#pragma once

#include "explore/tried.h"
#include "plan/plan.h"

struct coverage {
    unsigned states[DRAW_VERBS_MAX][EXCHANGE_STATES]; // how often a fault (index into verbs[]) met
                                                      // a state of the connection
    unsigned pairs[DRAW_VERBS_MAX][DRAW_VERBS_MAX];   // [a][b] with a < b: how often these two
                                                      // faults overlapped
    unsigned modes[MODES][DRAW_VERBS_MAX];            // how often a fault took effect in each mode
    unsigned draws[MODES];                            // number of draws in each mode
};

// Counts what a draw that was judged has covered.
void coverage_add(struct coverage *c, const struct tried *t);

// Returns how much a scenario would add to the coverage, judging by its plan. Scenarios that add
// more are run earlier. It is not known beforehand which state of the connection a fault will meet,
// so a fault that has met few states so far adds more.
unsigned coverage_gain(const struct coverage *c, const struct scenario *s, const struct plan *plan);

// How many cells of a table were seen at least once, and how many cells there are; only verbs that
// the limits allow count.
struct coverage_share {
    size_t seen, of;
};
struct coverage_share coverage_states(const struct coverage *c, const struct draw_limits *limits);
struct coverage_share coverage_pairs(const struct coverage *c, const struct draw_limits *limits);
struct coverage_share coverage_modes(const struct coverage *c, const struct draw_limits *limits);
