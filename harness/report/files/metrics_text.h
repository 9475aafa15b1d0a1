// Writes the figures of judged runs as families of OpenMetrics.
#pragma once

#include "check/check.h"

struct judged_run {
    char scenario[72], seed[24]; // a name has at most 64 letters
    enum verdict verdict;
    double values[METRIC_COUNT]; // NAN: not measured
};

// Copies what the families need of a judged run.
void judged_run_take(struct judged_run *j, const struct scenario *s, const struct result *result);

// Appends all families. A family has a sample for every run in which its metric was measured. No
// two runs may have the same scenario and seed, which are the labels of a sample.
void metrics_text_append(struct buf *out, const struct judged_run *runs, size_t count);
