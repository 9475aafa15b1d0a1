// Writes HdrHistogram logs (.hlog, format 1.3): intervals of latencies that any tool of that family
// opens. The values in a histogram are nanoseconds. Around it the log gives times in seconds since
// its start and the largest value in milliseconds, because readers expect these units.
#pragma once

#include "measure/histogram.h"

// Appends the lines above the intervals. `comment` is one line of text. It is cut where its line
// would be longer than 126 bytes, because the C reader reads no more. Returns false when `out` is
// full.
MUST_USE bool hlog_write_header(
    struct buf *out, const char *comment, int64_t start_wall_ns, struct err *e);

struct hlog_interval {
    const char *tag; // names a series of intervals; NULL: none; no comma and no white space
    int64_t from_ns; // ns since the start of the log
    int64_t length_ns;
    const struct histogram *histogram;
};

// Appends an interval as one line. On failure (an invalid tag, no room) it appends nothing.
MUST_USE bool hlog_write_interval(
    struct buf *out, const struct hlog_interval *interval, struct err *e);

// --- hgrm.c ------------------------------------------------------------------------
//
// Writes the percentile distribution file (.hgrm) that HdrHistogram's plotters read.

// Appends the distribution of h. Each value is divided by `unit`, so 1e6 turns nanoseconds into
// milliseconds. There are five rows for each halving of the distance to 100%. The value of a row is
// the highest of its bucket, as in every HdrHistogram; mean and deviation in the footer are those
// of h. Returns false when `out` is full.
MUST_USE bool hgrm_write(struct buf *out, const struct histogram *h, double unit);
