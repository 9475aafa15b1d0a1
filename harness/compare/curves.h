// The latencies of both sides by percentile: the median of the runs as a line, and their band.
#pragma once

#include "compare/compare.h"

// Appends an SVG; nothing when a side has no conclusive run with latencies.
void curves_print(const struct comparison *c, struct buf *out);
