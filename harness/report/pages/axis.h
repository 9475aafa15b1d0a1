// Computes an axis of a picture: at which place a value lies, and which round values get a tick.
// Pure.
#pragma once

#include "base/base.h"

struct axis {
    double low, high; // values at its ends
    double from, to;  // places of its ends
    bool logarithmic;
};

#define AXIS_TICKS_MAX 40

// Returns an axis without values, between two places of the picture.
struct axis axis_of(double from, double to, bool logarithmic);

// Makes room for a value. Ignores values that cannot be drawn.
void axis_widen(struct axis *a, double value);

// Adds a margin at both ends, so that no value lies at an edge. False when there is no value, or
// the values cannot be drawn.
bool axis_finish(struct axis *a);

// Returns the place of a value between a->from and a->to.
double axis_place(const struct axis *a, double value);

// Writes the ticks between the ends, the lowest first. Returns how many there are.
size_t axis_ticks(const struct axis *a, double ticks[AXIS_TICKS_MAX]);
