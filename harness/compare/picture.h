// The comparison as an HTML page that needs no other file: what changed, the ratios with their
// intervals as a picture, and each run as a dot.
#pragma once

#include "compare/compare.h"

// Appends the page; false when `out` is full.
bool picture_html(const struct comparison *list, size_t count, struct buf *out);

// Appends an SVG of the latencies of both sides by percentile: the median of the runs as a line,
// and their band. Nothing when a side has no conclusive run with latencies.
void curves_print(const struct comparison *c, struct buf *out);
