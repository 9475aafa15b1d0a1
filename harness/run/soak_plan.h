// mailproof run --soak: one scenario again and again, on one server and with one collector. Each of
// its runs is a segment, with a result folder of its own. Nothing of a segment stays in the memory,
// so a long soak needs no more of it.
#pragma once

#include "options/options.h"
#include "run/runner.h"

// The largest segment, in tokens: with it the harness needs less than 256 MiB.
#define SOAK_PLAN_TOKENS_MAX 250000u

// The most segments: two weeks of four minutes each.
#define SOAK_PLAN_SEGMENTS_MAX 5040

struct soak_plan {
    struct scenario scenarios[2]; // copies of the caller's scenario with different seeds: that of
                                  // segment n is scenarios[n % 2]
    uint64_t seed;                // the first segment's seed
    uint64_t segments;
    struct run *handover; // owned; the run that a segment hands over to the next one, or NULL
};

// Checks that the scenario can be soaked, and fills in the number of segments. Without --soak it
// does nothing. `scenarios` must outlive the soak.
MUST_USE bool soak_plan_begin(struct soak_plan *k, const struct scenario *scenarios, size_t count,
    const struct options *o, int *segments, struct err *e);

// Returns the scenario of segment `number`, and fills in `segment`, which goes into the run's
// options.
const struct scenario *soak_plan_segment(
    struct soak_plan *k, uint64_t number, struct segment *segment);

void soak_plan_end(struct soak_plan *k); // accepts a zeroed struct
