// The trade-off as one picture: tokens a batch to the right, the latency that is asked for upwards,
// both logarithmic.
#pragma once

#include "tune/tune.h"

// Appends an SVG. Appends nothing when fewer than two pairs were measured.
void scatter_print(const struct tune *t, struct buf *out);
