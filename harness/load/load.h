// The generator: carries out the plan's transactions at their intended times
// over connections of its own (open loop: a slow or absent server does not slow
// the plan, it makes a backlog that keeps its intended times).
//
// One thread runs load_run; the records are its own until it returns. Other
// threads may read the progress and ask it to stop.
#pragma once

#include <libpq-fe.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "os/stalls.h"
#include "plan/plan.h"

enum txn_outcome {
    TXN_NOT_SENT,    // dropped: the run ended before its turn
    TXN_COMMITTED,   // acknowledged
    TXN_ROLLED_BACK, // as planned, refused by the server, or died before its COMMIT was sent
    TXN_UNKNOWN,     // the connection died after the COMMIT was sent, or it was
                     // answered with a warning: the database must say
    TXN_NOT_NEEDED,  // of a closed loop that was over before its turn
};

struct txn_record {
    int64_t sent_ns;   // its first statement; 0: never
    int64_t commit_ns; // its COMMIT (the statement itself when it commits alone); 0: never
    int64_t ended_ns;  // the answer, or the connection's death
    enum txn_outcome outcome;
};

// The outcome of a planned change. Without an answer it may have happened or not.
struct change_record {
    int64_t sent_ns;      // 0: never, because its token was not committed or the run was over
    int64_t ended_ns;     // the answer, or the connection's death
    int64_t back_sent_ns; // reactivate: its second half; 0: never
    int64_t back_ended_ns;
    enum txn_outcome outcome; // COMMITTED: acknowledged, of both halves the first;
                              // UNKNOWN: sent, and not answered well
};

// A subject's own client, see producer.h.
struct load_producer {
    const char *const *argv;
    const char *const *env; // NULL-terminated NAME=value, complete
    const char *dir;        // where it runs
    int log;                // gets its standard error; -1: /dev/null
};

struct load_config {
    const char *conninfo;
    const struct plan *plan;
    const struct scenario *scenario;
    const struct load_producer *producer; // puts the jobs; NULL: we do, by SQL
    const char *enqueue;  // of a subject: what puts a job into its queue; NULL: accounts
    int64_t start_ns;     // when the plan's time 0 is
    int64_t deadline_ns;  // give up what was not sent by then
    size_t first, end;    // of the plan's transactions; changes come with the last of them
    unsigned part, parts; // of these only every parts-th; 0: all
};

struct load_progress {
    atomic_size_t sent, committed, failed; // transactions
    atomic_size_t tokens;                  // committed
    atomic_size_t connects;
    atomic_int stop; // set by another thread: end at once
};

struct load_result {
    struct txn_record *records;    // one per plan transaction
    struct change_record *changes; // one per planned change
    size_t refused;                // transactions the server answered with an error
    char refusal[256];             // the first such error
    double cpu_s;                  // of the generator's thread
    struct stalls stalls;          // of its loop
    int64_t clock_bound_ns;        // of several generators: how far their clocks may be off
    unsigned lost_workers;         // of these: those that have not answered to the end
    char lost_worker[200];         // the first of them, and why
};

// Prepares what the plan needs to find in the database: active accounts for its
// recovery tokens and conflicts, and none of the check that would refuse its hostile names. Runs
// before the clock starts, as superuser.
MUST_USE bool load_prepare(PGconn *conn, const struct plan *plan, struct err *e);

// Returns when every transaction from config.first to config.end has an outcome, all
// connections are closed. The result is zeroed, or that of an earlier part of the plan,
// of which it keeps the records.
MUST_USE bool load_run(const struct load_config *c, struct load_progress *progress,
    struct load_result *result, struct err *e);

void load_result_fini(struct load_result *result);
