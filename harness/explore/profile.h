// Loads that a random draw would seldom have. Some invariants are judged only with such a load.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "explore/draw.h"

struct profile {
    double share;      // of the draws
    unsigned dequeues; // 1 << enum dequeue, of the modes that it makes sense in
    bool quiet;        // has no faults, because its invariant is judged only without them
    bool complete;     // `collector` says the mode and the variables, too
    int instances;
    int64_t load_ns;
    const char *collector, *load; // YAML; NULL: drawn
    const char *expect;           // YAML; NULL: nothing
};

// Chooses the profile of a draw; a random load where the limits allow no other.
const struct profile *profile_draw(const struct draw_limits *limits, struct rng *rng);
