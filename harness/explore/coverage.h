// The coverage of the draws so far: which faults met which state of the collector, which faults
// overlapped, and in which modes. Pure.
#pragma once

#include "explore/tried.h"
#include "plan/plan.h"

struct coverage {
    unsigned states[DRAW_VERBS_MAX][EXCHANGE_STATES]; // number of times a fault met a state of the
                                                      // wire
    unsigned pairs[DRAW_VERBS_MAX][DRAW_VERBS_MAX];   // [a][b], a <= b: number of times the two
                                                      // overlapped
    unsigned modes[MODES][DRAW_VERBS_MAX];
    unsigned draws[MODES];
};

void coverage_add(struct coverage *c, const struct tried *t);

// Returns how much a scenario would add to the coverage, by its plan. The scenarios that add most
// are run first. Nobody knows beforehand which state a fault will meet. So a fault that has met few
// states so far adds more.
unsigned coverage_gain(const struct coverage *c, const struct scenario *s, const struct plan *plan);

// How many cells there are, and how many of them were seen.
struct coverage_share {
    size_t seen, of;
};
struct coverage_share coverage_states(const struct coverage *c, const struct draw_limits *limits);
struct coverage_share coverage_pairs(const struct coverage *c, const struct draw_limits *limits);
struct coverage_share coverage_modes(const struct coverage *c, const struct draw_limits *limits);
