// The percentile distribution file (.hgrm) that HdrHistogram's plotters read.
#pragma once

#include "base/buf.h"
#include "measure/histogram.h"

// Appends the distribution of h; a value is printed as value / unit, so 1e6
// turns nanoseconds into milliseconds. There are five rows for each halving of
// the distance to 100%. Values are the highest of their bucket, as in every
// HdrHistogram; mean and deviation in the footer are those of h. False when
// `out` cannot take it.
MUST_USE bool hgrm_write(struct buf *out, const struct histogram *h, double unit);
