// A run in progress, and its steps up to the end of the drain. Internal: only runner.c, which calls
// the steps in order, and the files here include this.
#pragma once

#include <pthread.h>

#include "base/clock.h"
#include "fault/fault.h"
#include "load/load.h"
#include "load/remote.h"
#include "os/starved.h"
#include "postgres/durability.h"
#include "postgres/probe.h"
#include "postgres/sampler.h"
#include "postgres/sessions.h"
#include "report/folder.h"
#include "report/progress.h"
#include "runner.h"
#include "subject/command.h"
#include "subject/manifest.h"

struct run {
    const struct scenario *scenario;
    const struct run_options *options;
    struct folder folder;
    struct plan plan;
    struct netns net; // only where the scenario breaks the network in the kernel
    struct server server;
    long log_from;        // where this run begins in the server's log
    atomic_int outer_pid; // the server's, for the sampler's thread
    struct durability_proof proof;
    struct manifest manifest;        // of a subject that is a queue; else zero
    struct command command;          // of the collector, with its environment
    struct command producer_command; // of a subject's own client
    struct load_producer producer;
    struct subject *subject;
    struct probe *probe;          // how fast the server answers meanwhile
    struct probe *flush_probe;    // and how fast it commits
    struct fault_context context; // what faults act on; its admin connection is the run's
    struct fault_record *faults;
    struct buf load_conninfo;
    struct load_config load_config;
    struct load_progress load_progress;
    struct load_result load;
    struct remote *workers; // send the load; NULL: this process does
    struct err load_err;
    bool load_ok;
    struct sampler *sampler;
    struct starved *starved; // measures how long processes wait for a processor
    pthread_t load_thread;
    bool load_started;
    atomic_bool load_done;
    struct sessions sessions; // of the collector
    struct ledger ledger;
    struct check_input input;
    struct progress progress;
    struct interval {
        size_t txn;       // of the transactions before it, all tokens were read
        int64_t began_ns; // of the interval that is under way; 0: none is
    } interval;
    struct err gave_up;
    bool interrupted; // a signal ended the load early
    char cpu_users[200];
    double left;    // see queue_left
    uint64_t trips; // of the collector to the server and back, when they are counted
    struct result result;
};

// The interval at which the loops of a run poll.
#define RUN_TICK_NS (100 * NS_PER_MS)

// prepare.c: starts a server that is migrated and proved durable, connects a collector, and starts
// the load's clock.
MUST_USE bool run_prepare_server(struct run *r, struct err *e);
MUST_USE bool run_make_backlog(struct run *r, struct err *e);
MUST_USE bool run_start_collector(struct run *r, struct err *e);
MUST_USE bool run_start_load(struct run *r, struct err *e);

// timeline.c: carries out the faults at their times until load and faults are over.
MUST_USE bool run_carry_out_plan(struct run *r, struct err *e);

// drain.c: waits until no expected token is missing or the drain is over, and then stops the
// collector.
MUST_USE bool run_drain(struct run *r, struct err *e);

// --- shared by the steps --------------------------------------------------------

// Tells whether a query's one value is `want`.
MUST_USE bool run_count_is(
    struct run *r, const char *sql, const char *want, bool *is, struct err *e);

// Adds the collector's round trips since the last call.
void run_count_trips(struct run *r);

// Shows the progress line: `begun` faults so far, in the phase `what`.
void run_show(struct run *r, size_t begun, const char *what);
