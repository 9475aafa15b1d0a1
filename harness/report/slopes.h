// Finds the figures that grew during a run, and how fast. Each figure that should stay level gets a
// slope with its confidence interval.
//
// The run is cut into windows. A window gives one point: the median of its samples, or for a
// counter the growth per commit. In a soak each segment gives one point, or only every n-th one, so
// that there are at most SLOPE_POINTS_MAX. The first tenth of the run, or of the segments, is
// warm-up and is left out.
#pragma once

#include "measure/stats.h"
#include "report/files/observed.h"

#define SLOPES_WINDOWS_MAX 60

enum slope_id {
    SLOPE_COLLECTOR_MEMORY,
    SLOPE_BACKENDS_MEMORY,
    SLOPE_HARNESS_MEMORY,
    SLOPE_COLLECTOR_DESCRIPTORS,
    SLOPE_SERVER_DESCRIPTORS,
    SLOPE_SHARED_MEMORY,
    SLOPE_DEAD_TUPLES,
    SLOPE_NOTIFY_QUEUE,
    SLOPE_DATABASE,
    SLOPE_WAL,
    SLOPE_LATENCY_P50,
    SLOPE_LATENCY_P99,
    SLOPES,
};

struct slopes {
    struct slope rows[SLOPES]; // y is in the figure's unit, x in hours
    bool measured[SLOPES];
    const char *of; // what the points are: windows or segments
    size_t points;
    double hours; // hours that the points cover
};

// The figures of one segment; NAN: not measured.
struct slopes_segment {
    int64_t at_ns; // when the segment's load began; the first member, for clock_compare
    double level[SLOPES];
};

// Computes the slopes from the samples and the text of intervals.csv. The samples' times count from
// the start of the load (observed_read with start_ns 0). ERR_USAGE when the run was too short.
MUST_USE bool slopes_take(
    struct slopes *s, const struct observed *o, const char *csv, struct err *e);

// slopes_segment fills in the figures of one segment. slopes_of_soak computes the slopes from the
// segments of a soak, in the order of time; ERR_USAGE when there are too few.
void slopes_segment(struct slopes_segment *g, const struct observed *o, const char *csv);
MUST_USE bool slopes_of_soak(
    struct slopes *s, const struct slopes_segment *segments, size_t count, struct err *e);

// Appends a Markdown table of the figures, each with its slope and whether it grows. False when
// `out` is full.
MUST_USE bool slopes_print(const struct slopes *s, struct buf *out);
