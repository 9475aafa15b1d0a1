// Simulates the batch window. This gives latencies for rates and periods that cannot be run, and
// shows whether the window alone explains the measurements. Pure.
//
// Transactions arrive as the phases of a load say (Poisson, constant, a ramp, a recorded trace),
// and the phases repeat. The first token opens the window. The window fires when `limit` tokens
// wait or when the timeout has passed.
//
// A batch's line is written one "read" after the window fired. If the previous line is not yet
// written when the window fires, the line is written one "turn" after the previous line
// (queries.h). The line holds all tokens that have arrived by the time of writing, up to the limit.
// This makes two small errors in opposite directions: the query reads a little before that time,
// but sees each commit a little before the committing client hears of it.
//
// After the line, a budget in e-mails per second may hold the sender back. The model leaves out
// faults, and transactions that take long to commit and hold back later ones.
#pragma once

#include "measure/histogram.h"
#include "scenario/scenario.h"
#include "tune/queries.h"

struct model {
    const struct load_phase *phases;
    size_t phase_count;
    int limit;
    int64_t timeout_ns;
    const struct queries *queries; // query times, for which queries_ready was called
    double budget_per_s;           // e-mails per second; 0: no budget holds the sender back
    int64_t period_ns;             // length of the simulated time: no batch begins after it
    bool ends; // true: the load ends with the first phase that reaches the end of the period;
               // false: the load goes on and may fill the last batch
    uint64_t seed;
};

struct model_result {
    uint64_t tokens, batches;
    int64_t end_ns;           // when the last batch was written
    struct histogram latency; // time from a token's arrival to its written line
    struct histogram sent;    // time from a token's arrival to its sent e-mail, as the budget
                              // allows
};

#define MODEL_TOKENS_MAX 200e6

// Runs the simulation. False with ERR_USAGE when no token or more than MODEL_TOKENS_MAX would
// arrive; *r is then empty.
MUST_USE bool model_run(struct model_result *r, const struct model *m, struct err *e);
void model_result_fini(struct model_result *r);

// Returns the average rate of the load in tokens per second, over one cycle of its phases.
double model_rate(const struct model *m);

double model_tokens_per_batch(const struct model_result *r);
