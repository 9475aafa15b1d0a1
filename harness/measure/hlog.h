// HdrHistogram logs (.hlog, format 1.3): intervals of latencies that any tool
// of that family opens. Values are nanoseconds; the log speaks of seconds since
// its start and of milliseconds, because that is what the readers expect.
#pragma once

#include "base/buf.h"
#include "measure/histogram.h"

// Appends the lines above the intervals. `comment` is one line of text. It is cut to 126
// characters, because the C reader reads no more.
MUST_USE bool hlog_write_header(
    struct buf *out, const char *comment, int64_t start_wall_ns, struct err *e);

struct hlog_interval {
    const char *tag; // NULL for none; no comma and no white space
    int64_t from_ns; // ns since the start of the log
    int64_t length_ns;
    const struct histogram *histogram;
};

// Appends one line. On failure (an invalid tag, no room) it appends nothing.
MUST_USE bool hlog_write_interval(
    struct buf *out, const struct hlog_interval *interval, struct err *e);
