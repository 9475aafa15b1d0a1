// Writes the OpenMetrics text format 1.0 into a buffer.
// https://github.com/OpenObservability/OpenMetrics/blob/main/specification/OpenMetrics.md
//
// It knows gauges, counters and histograms. Prometheus' older text format, which the node exporter
// reads from files, has these types as well.
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"

#define OPENMETRICS_CONTENT_TYPE "application/openmetrics-text; version=1.0.0; charset=utf-8"

enum openmetrics_type { OPENMETRICS_GAUGE, OPENMETRICS_COUNTER, OPENMETRICS_HISTOGRAM };
extern const char *const openmetrics_types[]; // their names

struct openmetrics_label {
    const char *name;
    const char *value; // NULL: the label is left out
};

// Begins a family. All of its samples must follow before the next family begins.
void openmetrics_family(
    struct buf *out, const char *name, enum openmetrics_type type, const char *help);

// Appends a sample of the family `name`. `labels` has `count` entries.
void openmetrics_sample(struct buf *out, const char *name, enum openmetrics_type type,
    const struct openmetrics_label *labels, size_t count, double value);

// Appends the samples of a histogram with `buckets` buckets. counts[i] is the number of values
// above bounds[i - 1] and up to bounds[i]. `count` is the number of all values, including those
// above the last bound, and `sum` is their sum.
void openmetrics_histogram(struct buf *out, const char *name, const double *bounds,
    const double *counts, size_t buckets, double count, double sum);

// Ends the text. False: the buffer had no room for the whole text.
bool openmetrics_end(struct buf *out);
