// Loads that a random draw would seldom make. Some invariants are judged only with such a load.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "explore/draw.h"

struct profile {
    double share;      // share of the draws that get this profile
    unsigned dequeues; // bits 1 << enum dequeue of the modes in which it makes sense
    bool quiet;        // it has no faults, because its invariant is judged only without them
    bool complete;     // `collector` names the mode and the variables, too
    int instances;
    int64_t load_ns;
    const char *collector, *load; // YAML; NULL: this part is drawn
    const char *expect;           // YAML; NULL: it expects nothing
};

// Chooses the profile of a draw. If the limits allow no profile, it is a random load.
const struct profile *profile_draw(const struct draw_limits *limits, struct rng *rng);
