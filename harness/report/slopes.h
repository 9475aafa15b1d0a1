// Finds the figures that grew during a run, and how fast. Each figure that should stay level gets a
// slope with its confidence interval.
//
// The run is cut into windows. A window gives one point: the median of its samples, or for a
// counter the growth per commit. The first tenth of the run is warm-up.
#pragma once

#include "base/buf.h"
#include "base/err.h"
#include "measure/slope.h"
#include "report/files/observed.h"

#define SLOPES_WINDOWS_MAX 60

enum slope_id {
    SLOPE_COLLECTOR_MEMORY,
    SLOPE_BACKENDS_MEMORY,
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
    size_t windows;
    double hours; // hours that the windows cover
};

const char *slope_name(enum slope_id id);
const char *slope_unit(enum slope_id id);

// Computes the slopes from the samples and the text of intervals.csv, which it changes. ERR_USAGE
// when the run was too short.
MUST_USE bool slopes_take(struct slopes *s, const struct observed *o, char *csv, struct err *e);

// Appends a Markdown table.
MUST_USE bool slopes_print(const struct slopes *s, struct buf *out);
