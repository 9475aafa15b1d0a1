// Chooses the profile of a draw: a random load, or one that a random draw would seldom make. Some
// invariants are judged only with such a load.
#pragma once

#include "explore/draw.h"

struct profile {
    double share;      // share of the draws that get this profile
    unsigned dequeues; // bits 1 << enum dequeue of the modes in which the profile makes sense
    bool quiet;        // the draw has no faults, because the profile's invariant is judged only
                       // without faults
    bool complete;     // `collector` also sets the mode and the variables
    int instances;
    int64_t load_ns;
    const char *collector, *load; // YAML of these sections; NULL: the section is drawn
    const char *expect;           // YAML line with expectations; NULL: there are none
};

// Returns the profile of a draw. If the limits do not allow the chosen one, that of a random load.
const struct profile *profile_draw(const struct draw_limits *limits, struct rng *rng);
