// Writes the percentile distribution file (.hgrm) that HdrHistogram's plotters read.
#pragma once

#include "measure/histogram.h"

// Appends the distribution of h. Each value is divided by `unit`, so 1e6 turns nanoseconds into
// milliseconds. There are five rows for each halving of the distance to 100%. The value of a row is
// the highest of its bucket, as in every HdrHistogram; mean and deviation in the footer are those
// of h. Returns false when `out` is full.
MUST_USE bool hgrm_write(struct buf *out, const struct histogram *h, double unit);
