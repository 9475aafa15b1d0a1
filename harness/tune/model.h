// Simulates the batch window, for rates and periods that cannot be run, and to see whether it
// explains the measurements. Pure.
//
// Transactions come as the phases of a load say (Poisson, constant, a ramp, a recorded trace), and
// the phases repeat. The first token opens the window, which fires when `limit` wait or the timeout
// has passed. The line is written a "read" later, or a "turn" after the line before it if that is
// not yet written (queries.h). Tokens that have come by then and find room are in the line. The
// query looks a little earlier, but it also sees a commit a little before its client hears of it.
// After the line a sender may be held to a budget, in e-mails per second. The model leaves
// out faults, and transactions that take long to commit and hold back those behind them.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "measure/histogram.h"
#include "scenario/scenario.h"
#include "tune/queries.h"

struct model {
    const struct load_phase *phases;
    size_t phase_count;
    int limit;
    int64_t timeout_ns;
    const struct queries *queries; // after queries_ready
    double budget_per_s;           // 0: the sender is not held back
    int64_t period_ns;
    bool ends; // nothing comes after the period; otherwise the load goes on and fills the last
               // batch
    uint64_t seed;
};

struct model_result {
    uint64_t tokens, batches;
    int64_t end_ns;           // when the last batch was written
    struct histogram latency; // arrival to written
    struct histogram sent;    // arrival to sent, within the budget
};

#define MODEL_TOKENS_MAX 200e6

// ERR_USAGE when nothing arrives or too much does.
MUST_USE bool model_run(struct model_result *r, const struct model *m, struct err *e);
void model_result_fini(struct model_result *r);

// Returns the tokens per second over a whole cycle of phases.
double model_rate(const struct model *m);

double model_tokens_per_batch(const struct model_result *r);
