// A run in progress, and its steps up to the end of the drain. Internal to runner.c, which calls
// the steps in order, and to the files of this folder.
#pragma once

#include "base/clock.h"
#include "fault/fault.h"
#include "postgres/durability.h"
#include "postgres/sessions.h"
#include "report/folder.h"
#include "report/progress.h"
#include "run/generator.h"
#include "run/observers.h"
#include "run/subject_queue.h"
#include "run/runner.h"
#include "subject/command.h"

// The line of progress, and the interval of its latency.
struct run_progress {
    struct progress line;
    size_t txn;       // all tokens of the transactions before this one were read
    int64_t began_ns; // when the present interval began; 0: there is none
};

// The knowledge at the end of a run: the facts that are judged beside the ledger, and the verdict.
struct run_end {
    struct err gave_up;       // why the harness gave the subject up; ERR_NONE: it did not
    struct sessions sessions; // sessions of the collector
    struct secret_scan tells; // what its logs hold
    char cpu_users[200];
    double left, taken, failed; // the results of queue_left, queue_taken and queue_failed
    struct handlers handlers;   // zeroed when nobody answers
    struct check_input input;
    struct result result;
};

struct run {
    // what it was asked
    const struct scenario *scenario;
    const struct run_options *options; // &asked
    struct run_options asked;          // the caller's
    struct plan plan;
    struct folder folder;

    // the server, and what is judged on it
    struct server server;
    long log_from; // length of the server's log when this run began
    struct durability_proof proof;
    struct run_queue queue;
    struct command command; // the collector's command and its environment
    struct subject *subject;

    // the load and the faults
    struct generator generator;
    struct netns net;             // used only where the scenario breaks the network in the kernel
    struct fault_context context; // the objects that faults act on; the run also uses its admin
                                  // connection
    struct fault_record *faults;

    // the next segment of a soak, once the log has turned to it
    struct turned {
        bool made;
        struct plan plan;
        struct folder folder;
        struct subject_log log; // of this segment, which is over
        struct subject_cost cost;
        long log_from;
    } turned;
    size_t carried; // number of processes that this segment's log has from the one before

    // what was seen
    struct observers observers;
    struct run_progress progress;
    uint64_t trips; // the collector's round trips, when they are counted
    struct ledger ledger;
    struct run_end end;
};

// The interval at which the loops of a run poll.
#define RUN_TICK_NS (100 * NS_PER_MS)

// prepare.c: starts a server, migrates it and proves that it is durable, connects a collector, and
// starts the load's clock.
MUST_USE bool run_prepare_server(struct run *r, struct err *e);
MUST_USE bool run_prepare_load(struct run *r, struct err *e);
MUST_USE bool run_make_backlog(struct run *r, struct err *e);
MUST_USE bool run_start_collector(struct run *r, struct err *e);
MUST_USE bool run_start_load(struct run *r, struct err *e);

// fault_loop.c: carries out the faults at their times until load and faults are over.
MUST_USE bool run_carry_out_plan(struct run *r, struct err *e);

// drain.c: waits until no expected token is missing or the drain is over, and then stops the
// collector.
MUST_USE bool run_drain(struct run *r, struct err *e);

// soak.c: from one segment of a soak to the next. run_turn ends this segment's log instead of the
// collector, if a segment follows and this one came to rest. run_goes_on says whether
// every token is settled, so that nothing of it is needed any more; run_take_up then makes the run
// the next segment's.
MUST_USE bool run_make_turn(struct run *r, bool rested, struct err *e);
bool run_goes_on(const struct run *r);
MUST_USE bool run_take_up(struct run *r, struct err *e);

// Returns the log and its cost, when the segment or the collector has ended.
struct subject_log *run_log(struct run *r);
const struct subject_cost *run_cost(const struct run *r);

// Frees what belongs to one segment. What was taken up, and the rest of the run, stays.
void run_forget(struct run *r);

// --- shared by the steps --------------------------------------------------------

// True when the query's single value is `want`.
MUST_USE bool run_count_is(
    struct run *r, const char *sql, const char *want, bool *is, struct err *e);

// Adds the collector's round trips since the last call.
void run_count_trips(struct run *r);

// Shows the progress line: the phase `what`, and the number of faults that have begun.
void run_show(struct run *r, size_t begun, const char *what);
