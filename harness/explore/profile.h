// Loads that a random draw would seldom have, and for which some invariants are judged only there.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "explore/draw.h"

struct profile {
    double share;      // of the draws
    unsigned dequeues; // 1 << enum dequeue, of the modes that it makes sense in
    bool quiet;        // has no faults, because what it is for is judged only without
    bool complete;     // its collector's text says the mode and the variables, too
    int instances;
    int64_t load_ns;
    const char *collector, *load; // YAML; NULL: drawn
    const char *expect;           // YAML; NULL: nothing
};

// Chooses the profile of a draw; a random load where the limits allow no other.
const struct profile *profile_draw(const struct draw_limits *limits, struct rng *rng);
