// Shows comparisons as an HTML page that needs no other file: what changed, the ratios with their
// intervals as a picture, and each run as a dot.
#pragma once

#include "compare/compare.h"

// Appends the page; false when `out` is full.
bool picture_html(const struct comparison *list, size_t count, struct buf *out);

// Appends an SVG of both sides' latencies by percentile: a line at the median of the runs, and a
// band from the lowest run to the highest. Appends nothing when a side has no conclusive run with
// latencies.
void curves_print(const struct comparison *c, struct buf *out);
