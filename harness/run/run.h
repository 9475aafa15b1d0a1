// A run in progress, and its steps up to the end of the drain. Internal to runner.c, which calls
// the steps in order, and to the files of this folder.
#pragma once

#include <pthread.h>
#include <stdatomic.h>

#include "fault/fault.h"
#include "ledger/ledger.h"
#include "load/load.h"
#include "load/remote.h"
#include "postgres/durability.h"
#include "postgres/sampler.h"
#include "postgres/sessions.h"
#include "report/folder.h"
#include "report/progress.h"
#include "run/runner.h"
#include "run/subject_queue.h"
#include "subject/command.h"

// --- generator.c -------------------------------------------------------------------
//
// The load of a run: the generator in a thread of its own, or workers in its place.

struct generator {
    struct buf conninfo;
    struct load_config config;
    struct load_progress progress;
    struct load_result result;
    struct remote *workers; // the workers that send the load; NULL: this process sends it
    pthread_t thread;
    bool started;
    atomic_bool done;
    bool ok; // true: the load went well; set at the end of the thread, as `err` is
    struct err err;
};

// Inserts the tokens that wait when the collector starts, and returns when they are committed;
// false if not all of them are. g->conninfo must be set. `enqueue`: see struct load_config.
MUST_USE bool generator_backlog(struct generator *g, const struct scenario *s,
    const struct plan *plan, const char *enqueue, struct err *e);

// Starts a worker for each command of `list`, in which commas stand between the commands. Does
// nothing if `list` is NULL.
MUST_USE bool generator_open_workers(struct generator *g, const char *list,
    const struct scenario *s, const struct plan *plan, struct err *e);

// Starts the load in a thread of its own, or lets the workers send it.
MUST_USE bool generator_start(struct generator *g, const struct load_config *config, struct err *e);

// Waits until the load is over. Returns false when it failed.
MUST_USE bool generator_join(struct generator *g, struct err *e);

// Ends the thread at any stage; the records stay until generator_fini.
void generator_stop(struct generator *g);
void generator_fini(struct generator *g);

// --- observers.c -------------------------------------------------------------------
//
// The threads that observe a run: samples of the server and the machine, the wait for a processor,
// and two probes of the server.

struct observers {
    struct sampler *sampler;
    struct starved *starved; // measures how long processes wait for a processor
    struct probe *answers;   // measures how fast the server answers
    struct probe *flushes;   // measures how fast it commits
    atomic_int outer_pid;    // copy of server.outer_pid, for the threads of `sampler` and `starved`
};

// Starts all observers. The server and the subject must outlive them.
MUST_USE bool observers_start(
    struct observers *o, const struct server *server, struct subject *subject, struct err *e);

// Starts only `starved`. observers_end_starved ends it and puts its samples into the ledger.
MUST_USE bool observers_start_starved(
    struct observers *o, const struct server *server, struct subject *subject, struct err *e);
void observers_end_starved(struct observers *o, struct ledger *l);

// Gives the observers server->outer_pid, which changes with each start of the server.
void observers_note_pid(struct observers *o, const struct server *server);

// Each of these ends a part of the observers and puts its samples into the ledger, which borrows
// them. observers_end_samples ends those that look at the collector's processes, so call it before
// the collector ends.
void observers_end_samples(struct observers *o, struct ledger *l);
void observers_end_probes(struct observers *o, struct ledger *l);

// Both accept observers at any stage. observers_stop ends the probes and `starved`; observers_fini
// ends the sampler as well and frees everything. The sampler's end waits for its query, which a
// paused server never answers, so call observers_fini when the server has ended or runs.
void observers_stop(struct observers *o);
void observers_fini(struct observers *o);

// The progress line of a run, and what its live latency is computed from.
struct run_progress {
    struct progress line;
    size_t txn;       // index: all tokens of the transactions before this one were read, or are
                      // rolled back or of the backlog
    int64_t began_ns; // when the interval of the live latency began; 0: none has begun
};

// What is known at the end of a run: the facts that are judged beside the ledger, and the verdict.
struct end_facts {
    struct err gave_up;         // why the harness gave the subject up; ERR_NONE: it did not
    struct sessions sessions;   // sessions of the collector
    struct secret_scan secrets; // the secrets that were found in the collector's logs
    char cpu_users[200];
    double left, taken, failed; // numbers of jobs that the manifest's queries end_state, `taken`
                                // and `failed` count; NAN: not known
    struct handlers handlers;   // zeroed unless the harness tells each handler how to end
    struct check_input input;
    struct result result;
};

struct run {
    // the request
    const struct scenario *scenario;
    struct run_options options; // a copy of the caller's
    struct plan plan;
    struct folder folder;

    // the server, and the subject that is judged against it
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

    // The next segment of a soak, and what is kept of the present one. It is filled in when the
    // present segment has ended and the collector keeps running.
    struct next_segment {
        bool ready; // true: the rest is filled in, and what the collector writes belongs to the
                    // next segment
        struct plan plan;
        struct folder folder;
        long log_from;            // length of the server's log when the next segment begins
        struct subject_log log;   // the present segment's log, which is complete
        struct subject_cost cost; // the cost of reading that log
    } next_segment;
    size_t carried_processes; // number of processes in this segment's log that already ran in the
                              // segment before

    // what was seen
    struct observers observers;
    struct run_progress progress;
    uint64_t trips; // the collector's round trips, when they are counted
    struct ledger ledger;
    struct end_facts end;
};

// The interval at which the loops of a run poll.
#define RUN_TICK_NS (100 * NS_PER_MS)

// prepare.c: run_prepare_server starts a server, migrates it and proves that it is durable.
// run_prepare_load makes the ledger and what the load needs in the database. run_make_backlog
// commits the backlog. run_start_collector starts the collector and waits for it, and
// run_start_load starts the load and its clock.
MUST_USE bool run_prepare_server(struct run *r, struct err *e);
MUST_USE bool run_prepare_load(struct run *r, struct err *e);
MUST_USE bool run_make_backlog(struct run *r, struct err *e);
MUST_USE bool run_start_collector(struct run *r, struct err *e);
MUST_USE bool run_start_load(struct run *r, struct err *e);

// fault_loop.c: carries out the faults at their times until load and faults are over.
MUST_USE bool run_carry_out_plan(struct run *r, struct err *e);

// drain.c: waits until no expected token is missing or the time for the drain has passed. Then it
// stops the collector, or lets it run on in the next segment of a soak.
MUST_USE bool run_drain(struct run *r, struct err *e);

// soak.c: from one segment of a soak to the next. If another segment follows and this one came to
// rest (`rested`), run_prepare_next fills in next_segment: the collector keeps running, and only
// its log ends. run_continues returns true when next_segment is filled in and every token of this
// segment is settled. run_begin_next then turns the run into the run of the next segment.
MUST_USE bool run_prepare_next(struct run *r, bool rested, struct err *e);
bool run_continues(const struct run *r);
MUST_USE bool run_begin_next(struct run *r, struct err *e);

// Return the collector's log, and what it cost to read it. Call them when the segment or the
// collector has ended.
struct subject_log *run_log(struct run *r);
const struct subject_cost *run_cost(const struct run *r);

// Frees what belongs to one segment only. The server, the collector and the next segment's plan and
// folder stay.
void run_free_segment(struct run *r);

// --- shared by the steps --------------------------------------------------------

// Fills in `is`: true when the query's single value is `want`. Returns false when there is no
// answer.
MUST_USE bool run_count_is(
    struct run *r, const char *sql, const char *want, bool *is, struct err *e);

// Reads the server's time, in s since 1970, into the ledger.
MUST_USE bool run_read_epoch(struct ledger *l, PGconn *conn, struct err *e);

// Adds to `trips` the collector's round trips since the last call.
void run_count_trips(struct run *r);

// Shows the progress line. begun_count: the number of faults that have begun; what: "load" or
// "drain".
void run_show(struct run *r, size_t begun_count, const char *what);
