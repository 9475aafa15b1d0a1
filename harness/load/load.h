// The generator: carries out the plan's transactions at their intended times over connections of
// its own. It is an open loop: a slow or absent server does not slow the plan. The inserts that it
// delays form a backlog and keep their intended times.
//
// One thread runs load_run; the records belong to it until load_run returns. Other threads may read
// the progress and ask the load to stop.
#pragma once

#include <libpq-fe.h>
#include <poll.h>
#include <stdatomic.h>

#include "os/ticker.h"
#include "plan/plan.h"

enum txn_outcome {
    TXN_NOT_SENT,    // dropped: the run ended before its turn
    TXN_COMMITTED,   // acknowledged
    TXN_ROLLED_BACK, // rolled back as planned, refused by the server, or cut off before its COMMIT
                     // was sent
    TXN_UNKNOWN,     // it may have committed, and only the database knows: after its COMMIT the
                     // connection died or the answer was a warning, its worker was lost, or its
                     // producer did not answer
    TXN_NOT_NEEDED,  // the closed loop was over before its turn
};

struct txn_record {
    int64_t sent_ns;   // when its first statement was sent; 0: never
    int64_t commit_ns; // when its COMMIT or ROLLBACK was sent (or the statement, if it commits
                       // alone); 0: never, or after a failed COPY
    int64_t ended_ns;  // when it was answered, or the connection was lost
    enum txn_outcome outcome;
};

// The outcome of a planned change. A change without an answer may have happened or not. A change of
// the kind CHANGE_REACTIVATE has two halves: the account is suspended and, later, active again.
struct change_record {
    int64_t sent_ns;      // 0: never, because its token was not committed or the run was over
    int64_t ended_ns;     // when it was answered, or the connection was lost
    int64_t back_sent_ns; // when the second half was sent; 0: never
    int64_t back_ended_ns;
    enum txn_outcome outcome; // COMMITTED: the first half was acknowledged;
                              // UNKNOWN: it was sent, and no good answer came;
                              // NOT_NEEDED: its token was not acknowledged
};

// The client of a subject; see producer.h.
struct load_producer {
    const char *const *argv;
    const char *const *env; // the complete environment: NULL-terminated NAME=value
    const char *dir;        // its working directory
    int log;                // the descriptor for its standard error; -1: /dev/null
};

// A generator's share of the plan: every `of`-th transaction, from the transaction `part` on.
struct load_part {
    unsigned part, of; // part counts from 0; of 0: all of the plan
};

struct load_config {
    const char *conninfo;
    const struct plan *plan;
    const struct scenario *scenario;
    const struct load_producer *producer; // the client that puts the jobs; NULL: the generator
                                          // inserts them itself, by SQL
    const char *enqueue; // a subject's statement that puts a job into its queue; NULL: insert
                         // accounts
    int64_t start_ns;    // the time 0 of the plan, on the run's clock
    int64_t deadline_ns; // the load ends then at the latest, and what was not sent is given up
    size_t first, end;   // range of the plan's transactions, without `end`; a range up to the
                         // plan's end includes the changes
    struct load_part part;
};

struct load_progress {
    atomic_size_t sent, committed, failed; // numbers of transactions
    atomic_size_t tokens;                  // number of committed tokens
    atomic_size_t connects;                // number of connections that were opened
    atomic_int stop;                       // another thread sets it to make the load end at once
};

struct load_result {
    struct txn_record *records;    // one per plan transaction
    struct change_record *changes; // one per planned change
    size_t refused;       // number of errors that no fault explains, with a producer's wrong lines
    char refusal[256];    // the first of them
    double cpu_s;         // CPU time of the generators' threads, each rounded down to 1 µs
    struct stalls stalls; // stalls of the generator's loop
    int64_t clock_bound_ns; // with several generators: the greatest error between their clocks
    unsigned lost_workers;  // number of workers that were lost before their last answer
    char lost_worker[200];  // the first worker that was lost, and why
};

// Inserts the active accounts that must exist before the load (token_kind_has_account). If the plan
// has names that the wire format cannot carry, disables the trigger that refuses them. Call it as
// superuser before the clock starts.
MUST_USE bool load_prepare(PGconn *conn, const struct plan *plan, struct err *e);

// Makes the ids of accounts and tokens begin with `first`. Call it before load_prepare.
MUST_USE bool load_ids_from(PGconn *conn, int first, struct err *e);

// Carries out the plan's transactions from config.first up to, but not including, config.end.
// Returns when each of them has an outcome and all connections are closed. `result` must be zeroed,
// or be the result of an earlier part of the plan, whose records it keeps.
MUST_USE bool load_run(const struct load_config *c, struct load_progress *progress,
    struct load_result *result, struct err *e);

// Waits until one of the descriptors has an event or the time until_ns has come, but for 50 ms at
// most, so that the loop notices when it must stop. Returns the time after the wait. woke_ns is
// when the wait before this one ended: from then on the loop did its work and could not notice new
// events. Notes that work as a stall if it took long, and this wait if it took longer than asked,
// because the thread did not get the processor.
int64_t load_wait(
    struct stalls *s, struct pollfd *fds, size_t count, int64_t until_ns, int64_t woke_ns);

// Makes room for one record per transaction and change of the plan. Keeps the records of an earlier
// part of the plan, and drops that part's figures. Each way to carry out a plan begins with this
// call.
MUST_USE bool load_result_begin(struct load_result *result, const struct plan *plan, struct err *e);
void load_result_fini(struct load_result *result);
