// Compares pairs of batch limit and batch timeout, and recommends one. Pure.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "scenario/metrics.h"
#include "scenario/scenario.h"
#include "tune/precision.h"

// What a run costs besides time. NAN: the figure was not measured.
struct tune_cost {
    double wal_bytes;        // bytes per token; of the whole server, so the inserts are included
    double backend_cpu_ms;   // CPU time of the collector's backends, ms per 1,000 tokens
    double collector_cpu_ms; // CPU time of the collector itself, ms per 1,000 tokens
    double round_trips;      // round trips of the collector per token; not in result.json
};

struct tune_pair {
    int limit;
    int64_t timeout_ns;
    double values[METRIC_COUNT]; // medians over the pair's runs; NAN: not measured
    double tokens_per_batch;
    struct tune_cost cost;   // medians over the pair's runs
    struct precision judged; // precision of the objective's metric, or of latency.p99
    size_t runs, inconclusive;
    const char *state;                           // why the pair got no more runs; "" when it was
                                                 // simulated
    double model_p50_ms, model_tokens_per_batch; // figures of the model; NAN: no model
    double model_p50_off, model_tokens_off;      // relative errors of the model; NAN: no model
    bool left_out;                               // true: the model puts others before it, so it is
                                                 // not run
    bool broken;                                 // true: an invariant was broken, so the pair is
                                                 // never recommended
    bool meets;                                  // true: the pair meets the objective
    bool on_front;                               // true: no other pair has larger batches and a
                                                 // lower p99
};

#define TUNE_PAIRS_MAX 100

struct tune {
    const char *scenario;
    struct tune_pair *pairs;             // borrowed; ordered by limit, then by timeout
    size_t count;                        // at most TUNE_PAIRS_MAX
    const struct expectation *objective; // NULL: there is no objective
    double read_ms, turn_ms;             // medians of the model's query times; NAN: no model
    bool simulated;                      // true: the figures are the model's own
    const char *gaps;                    // borrowed; which runs are missing; NULL or "": none
    bool interrupted;                    // true: a signal ended the runs early
    const char *budget;                  // borrowed; a sentence that says whether the load fits the
                                         // budget; NULL: no budget
    bool over_budget;                    // true: it does not fit, and no pair can change that
};

// Fills in `meets` and `on_front` of all pairs.
void tune_judge(struct tune *t);

// True when the value meets the objective. NAN never does.
bool tune_holds(const struct expectation *x, double got);

// Recommends a pair; NULL when no pair can be recommended. With an objective, it is the pair with
// the largest batches among those that meet it. Without an objective, it is the pair with the least
// p99 per token in a batch.
const struct tune_pair *tune_recommend(const struct tune *t);

// Leaves out all pairs but the `most` that come first by their figures, which are the model's:
// those that tune_recommend would choose one after another, and then those with the least p99. To
// be called after tune_judge.
void tune_leave_out(struct tune *t, size_t most);

// False when no pair has a conclusive run.
bool tune_known(const struct tune *t);

// True when every measured pair breaks an invariant.
bool tune_all_broken(const struct tune *t);

// Explains the recommendation: whether the runs were interrupted, which pair and why, its price,
// and whether the load fits the budget. A load that does not fit comes first.
bool tune_print_recommendation(const struct tune *t, struct buf *out);

// Prints the median error of the model against the measurements. Prints nothing when no pair has
// both.
bool tune_print_model(const struct tune *t, struct buf *out);

// Writes a name such as "limit 10 and timeout 100ms".
void tune_print_name(const struct tune_pair *p, struct buf *out);

// Returns a remark for the table, like "take this" or "on the front"; "" when there is none.
const char *tune_remark(const struct tune *t, const struct tune_pair *p);
