// Simulates the adaptive window, auto:20..500, and every fixed pair of limit and timeout, on a fake
// clock, for the test and for `ci/bench adaptive`. Pure: the figures are the same on every machine.
// A read takes no time.
#pragma once

#include "base/base.h"

// A load in cycles: `singles` tokens, then a burst of `size` tokens. All gaps are exponential. The
// tokens of a burst come at burst_per_s, or all at once when that is 0. All other tokens, and the
// first of a burst, come at per_s. A steady load has no bursts.
struct pace_load {
    double per_s;
    int singles;
    int size;
    double burst_per_s;
    int limit;
};

struct pace_figures {
    double p99_ms; // how long tokens wait in the adaptive window
    double batch;  // mean tokens a line of the adaptive window
    double best;   // mean tokens a line of the best fixed pair whose p99 is no longer than p99_ms
    int best_limit;
    double best_ms;
    double share; // batch ÷ best
};

enum pace_kind { PACE_STEADY, PACE_BURSTS, PACE_BURSTS_IN_A_TRICKLE, PACE_KINDS };

extern const struct pace_load pace_loads[];
extern const int pace_load_count;

// Draws a load by the seed.
struct pace_load pace_draw(enum pace_kind kind, uint64_t seed);

// Judges 20,000 tokens, after 100,000 in which the window settles.
struct pace_figures pace_compare(const struct pace_load *load);

// Prints when the judged tokens come, in seconds from the first, for mailproof tune --model.
void pace_print_trace(const struct pace_load *load);

// Writes a load's name, such as "30/s" or "30 at 1000/s after 10 at 2/s". Returns `text`.
const char *pace_load_name(const struct pace_load *load, char *text, size_t size);
