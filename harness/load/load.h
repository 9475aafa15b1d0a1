// The generator: carries out the plan's transactions at their intended times over connections of
// its own. It is an open loop: a slow or absent server does not slow the plan, but makes a backlog
// of inserts that keep their intended times.
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
    TXN_ROLLED_BACK, // rolled back as planned, refused by the server, or cut off before its COMMIT
                     // was sent
    TXN_UNKNOWN,     // the connection died after the COMMIT was sent, or the answer was a warning;
                     // only the database knows
    TXN_NOT_NEEDED,  // the closed loop was over before its turn
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
    enum txn_outcome outcome; // COMMITTED: the first half was acknowledged;
                              // UNKNOWN: it was sent, and no good answer came
};

// The client of a subject; see producer.h.
struct load_producer {
    const char *const *argv;
    const char *const *env; // NULL-terminated NAME=value, complete
    const char *dir;        // where it runs
    int log;                // the descriptor for its standard error; -1: /dev/null
};

struct load_config {
    const char *conninfo;
    const struct plan *plan;
    const struct scenario *scenario;
    const struct load_producer *producer; // the client that puts the jobs; NULL: we put them, by
                                          // SQL
    const char *enqueue;  // a subject's statement that puts a job into its queue; NULL: accounts
    int64_t start_ns;     // when the plan's time 0 is
    int64_t deadline_ns;  // give up what was not sent by then
    size_t first, end;    // part of the plan's transactions; the last part also sends the changes
    unsigned part, parts; // send only every parts-th of these transactions; 0: all
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
    int64_t clock_bound_ns;        // with several generators: how far their clocks may be off
    unsigned lost_workers;         // how many workers were lost before their last answer
    char lost_worker[200];         // the first one lost, and why
};

// Inserts the active accounts that the plan's recovery tokens and upserts need. If the plan has
// names that the wire cannot carry, disables the trigger that refuses them. Runs before the clock
// starts, as superuser.
MUST_USE bool load_prepare(PGconn *conn, const struct plan *plan, struct err *e);

// Returns when every transaction from config.first to config.end has an outcome, and all
// connections are closed. `result` must be zeroed, or the result of an earlier part of the plan,
// whose records it keeps.
MUST_USE bool load_run(const struct load_config *c, struct load_progress *progress,
    struct load_result *result, struct err *e);

// Makes room for one record per transaction and change of the plan. Keeps the records of an earlier
// part of it, and drops that part's figures. Each way to carry out a plan begins with it.
MUST_USE bool load_result_begin(struct load_result *result, const struct plan *plan, struct err *e);
void load_result_fini(struct load_result *result);
