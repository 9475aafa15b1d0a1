// Compares pairs of batch limit and batch timeout, and recommends one. Pure.
#pragma once

#include "scenario/metric.h"
#include "scenario/scenario.h"
#include "tune/precision.h"

// What a run costs besides latency. NAN: the figure was not measured.
struct tune_cost {
    double wal_bytes;        // WAL of the whole server, also that of the inserts, bytes per token
    double backend_cpu_ms;   // CPU time of the collector's backends, ms per 1,000 tokens
    double collector_cpu_ms; // CPU time of the collector itself, ms per 1,000 tokens
    double round_trips;      // round trips of the collector per token; not in result.json
};

struct tune_pair {
    int limit;
    int64_t timeout_ns;
    double values[METRIC_COUNT]; // medians over the pair's conclusive runs, or the model's figures;
                                 // NAN: not known
    double tokens_per_batch;
    struct tune_cost cost;     // medians over the pair's runs
    struct precision judged;   // precision of the objective's metric, or of latency.p99
    size_t runs, inconclusive; // numbers of all runs but those that count round trips, and of the
                               // inconclusive ones among them
    const char *state;         // whether more runs are needed, in the words of schedule_state_name,
                               // such as "precise enough"; NULL when the pair was simulated
    double model_p50_ms, model_tokens_per_batch; // figures of the model; NAN: no model
    double model_p50_off, model_tokens_off;      // relative errors of the model (0.1: 10% too
                                                 // high); NAN: no model
    bool left_out;                               // true: the model prefers other pairs, so this one
                                                 // is not run
    bool broken;                                 // true: a run broke an invariant that is not about
                                                 // time, so the pair is never recommended
    bool meets;                                  // true: the pair meets the objective
    bool on_front;                               // true: the pair is not broken, its p99 can be
                                                 // trusted, and no other such pair is at least as
                                                 // good in batch size and p99, and better in one
};

#define TUNE_PAIRS_MAX 100

struct tune {
    const char *scenario;
    struct tune_pair *pairs;             // borrowed; ordered by limit, then by timeout
    size_t count;                        // at most TUNE_PAIRS_MAX
    const struct expectation *objective; // NULL: there is no objective
    double read_ms, turn_ms;             // medians of the model's query times; NAN: no model
    bool simulated;                      // true: the figures come from the model and not from runs
    const char *gaps;                    // borrowed; text that says which runs are missing; NULL or
                                         // "": none
    bool interrupted;                    // true: a signal ended the runs early
    const char *budget;                  // borrowed; a sentence that says whether the load fits the
                                         // budget; NULL: no budget
    bool over_budget;                    // true: the load does not fit the budget, and no pair can
                                         // change that
};

// Sets `meets` and `on_front` of each pair.
void tune_judge(struct tune *t);

// True when the value `got` meets the objective. NAN never does.
bool tune_holds(const struct expectation *x, double got);

// Recommends a pair; NULL when no pair can be recommended. With an objective, it is the pair with
// the largest batches among those that meet it. Without an objective, it is the pair with the least
// p99 per token in a batch.
const struct tune_pair *tune_recommend(const struct tune *t);

// Leaves out all pairs but the best `keep` ones by the model's figures. The best are those that
// tune_recommend would choose one after another, then those with the least p99. Call it after
// tune_judge.
void tune_leave_out(struct tune *t, size_t keep);

// True when some pair has enough conclusive runs, or breaks an invariant; otherwise nothing is
// known.
bool tune_has_result(const struct tune *t);

// True when a pair broke an invariant, and every other pair did so, too, or gave no result.
bool tune_all_broken(const struct tune *t);

// Prints the recommendation: whether runs are missing, which pair to take and why, what larger
// batches would cost, and whether the load fits the budget. If it does not, this comes first.
bool tune_print_recommendation(const struct tune *t, struct buf *out);

// Prints the median and the largest error of the model against the measurements; nothing when no
// pair has both.
bool tune_print_model(const struct tune *t, struct buf *out);

// Appends the pair's name, such as "limit 10 and timeout 100ms".
void tune_print_name(const struct tune_pair *p, struct buf *out);

// Returns a remark about the pair for the table, such as "take this" or "on the front"; "" when
// there is none.
const char *tune_remark(const struct tune *t, const struct tune_pair *p);
