// Simulates the batch window. So it tells latencies for rates and periods that cannot be run, and
// whether the window explains the measurements. Pure.
//
// Transactions come as the phases of a load say (Poisson, constant, a ramp, a recorded trace), and
// the phases repeat. The first token opens the window. The window fires when `limit` tokens wait or
// when the timeout has passed.
//
// The line is written a "read" later. If the line before it is not written by then, it is written a
// "turn" after that line (queries.h). Tokens that have come by the time of writing and find room
// are in the line. The query looks a little earlier, but it also sees a commit a little before its
// client hears of it.
//
// After the line, a budget may hold the sender back, in e-mails per second. The model leaves out
// faults, and transactions that take long to commit and hold back those behind them.
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
    const struct queries *queries; // query times, after queries_ready
    double budget_per_s;           // e-mails per second; 0: no budget holds the sender back
    int64_t period_ns;
    bool ends; // true: nothing comes after the period; false: the load goes on and fills the last
               // batch
    uint64_t seed;
};

struct model_result {
    uint64_t tokens, batches;
    int64_t end_ns;           // when the last batch was written
    struct histogram latency; // time from arrival to the written line
    struct histogram sent;    // time from arrival to the sent e-mail, within the budget
};

#define MODEL_TOKENS_MAX 200e6

// Runs the simulation. ERR_USAGE when nothing arrives or too much does.
MUST_USE bool model_run(struct model_result *r, const struct model *m, struct err *e);
void model_result_fini(struct model_result *r);

// Returns the average of tokens per second over a whole cycle of phases.
double model_rate(const struct model *m);

double model_tokens_per_batch(const struct model_result *r);
