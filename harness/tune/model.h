// The batch window simulated: for rates and periods that cannot be run. Pure.
//
// Tokens arrive at random (Poisson) at a rate that changes phase by phase; the
// phases repeat. The first token opens the window, which fires when `limit` wait
// or the timeout has passed; dequeuing and writing take `query_ns`, and nothing
// fires meanwhile. Behind it a sender may be held to a budget of so many e-mails
// per second. What a model of five lines leaves out: inserts that take time,
// transactions of several tokens, faults.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "measure/histogram.h"

struct model_phase {
    int64_t for_ns;
    double rate_per_s;
};

struct model {
    const struct model_phase *phases;
    size_t phase_count;
    int limit;
    int64_t timeout_ns, query_ns;
    double budget_per_s; // 0: the sender is not held back
    int64_t period_ns;
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

// Tokens per second over a whole cycle of phases.
double model_rate(const struct model *m);

double model_tokens_per_batch(const struct model_result *r);
