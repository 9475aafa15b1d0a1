// Pairs of batch limit and batch timeout, what each costs, and which to take. Pure.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "scenario/metrics.h"
#include "scenario/scenario.h"

struct tune_pair {
    int limit;
    int64_t timeout_ns;
    double values[METRIC_COUNT]; // medians over its runs; NAN: not measured
    double tokens_per_batch;
    double model_p50_ms, model_tokens_per_batch; // NAN: no model
    bool broken;                                 // an invariant: never recommended
    bool meets;                                  // the objective
    bool on_front;                               // no pair has larger batches and a lower p99
};

#define TUNE_PAIRS_MAX 100

struct tune {
    struct tune_pair *pairs;             // borrowed
    size_t count;                        // at most TUNE_PAIRS_MAX
    const struct expectation *objective; // NULL: none
};

// Fills in meets and on_front.
void tune_judge(struct tune *t);

// The pair to take, NULL when none will do. With an objective: the largest batches
// among those that meet it. Without: the least p99 per token in a batch.
const struct tune_pair *tune_recommend(const struct tune *t);

bool tune_print(const struct tune *t, struct buf *out);
bool tune_print_recommendation(const struct tune *t, struct buf *out);
bool tune_print_markdown(const struct tune *t, struct buf *out);
bool tune_print_json(const struct tune *t, struct buf *out);
bool tune_print_csv(const struct tune *t, struct buf *out);

// How far the model, with `query_ns` for a query, is from what was measured: half
// of the pairs are closer. Nothing when no pair has both.
bool tune_print_model(const struct tune *t, int64_t query_ns, struct buf *out);
