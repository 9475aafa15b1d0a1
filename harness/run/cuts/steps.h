// The small workload of one trial: a handful of transactions, its steps. Each step commits after
// the lines of the step before were read. A step has one token, several, or more than a batch
// holds. Among the tokens are a password recovery and one that is not to be sent.
//
// The last step runs only after a cut. When its token has come out, everything that a collector
// would send again has come out as well, except what a dead collector has left to others. The trial
// waits for that separately.
#pragma once

#include <libpq-fe.h>

#include "load/load.h"
#include "plan/plan.h"
#include "scenario/scenario.h"

#define STEPS 6
#define STEPS_FAULTS 2

// A scenario with the steps as its load, and otherwise the original's postgres and collector. Its
// strings and arrays belong to the original scenario, or to this struct.
struct steps {
    struct scenario scenario;
    struct load_phase phases[STEPS];
    struct fault_spec faults[STEPS_FAULTS];
    struct plan plan;                 // owned
    struct txn_record records[STEPS]; // the outcome of each transaction
};

MUST_USE bool steps_init(struct steps *s, const struct scenario *of, struct err *e);
void steps_fini(struct steps *s);

// Makes the accounts whose passwords the steps will recover, and prepares the statements of the
// steps, on a connection of the superuser. Call it before the first step.
MUST_USE bool steps_prepare(const struct steps *s, PGconn *conn, struct err *e);

// Commits the tokens of one step. `start_ns` is when the trial began.
MUST_USE bool steps_commit(
    struct steps *s, PGconn *conn, size_t step, int64_t start_ns, struct err *e);

// True when the collector has to write this token.
bool steps_sendable(const struct steps *s, uint32_t token);
