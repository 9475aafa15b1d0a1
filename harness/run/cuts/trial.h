// One trial of --every-cut or --every-kill: a fresh database, a fresh collector, and the steps of
// steps.c. The connection is cut, or the collector killed, at one message or at two. The trial is
// judged by all invariants, like any run.
#pragma once

#include <libpq-fe.h>

#include "check/check.h"
#include "load/load.h"
#include "plan/plan.h"
#include "postgres/provider.h"
#include "run/cuts/points.h"
#include "scenario/scenario.h"

// --- steps.c -----------------------------------------------------------------------
//
// The small workload of one trial: a handful of transactions, its steps. Each step commits after
// the lines of the step before were read. A step has one token, two, or more than a batch holds,
// but no more than a dozen. Among the tokens are a password recovery and one that is not to be
// sent.
//
// The last step runs only after a cut. When its token has come out, everything that a collector
// would send again has come out as well, except what a dead collector has left to others. The trial
// waits for that separately.

#define STEPS 6

// A scenario with the steps as its load, and otherwise the original's postgres and collector. Its
// strings and arrays belong to the original scenario, or to this struct.
struct steps {
    struct scenario scenario;
    struct load_phase phases[STEPS];
    struct fault_spec faults[POINTS_CUTS_MAX];
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

// --- freshdb.c ---------------------------------------------------------------------
//
// Gives each trial a database that equals a template: the server's own database, which is migrated
// and has no tokens, and to which nobody is connected. A copy of it takes a third of a second of
// processor time, so only the first trial gets a copy. For later trials the tables are emptied and
// the queue's rows are restored. For a collector with tables of its own, each trial gets a copy.
//
// Other sessions in the database are ended first, so that nothing of a trial reaches into the next.

struct freshdb {
    const struct server *server;
    bool copies; // true: each trial gets a new copy of the template
    char name[64];
    PGconn *admin; // connection of the superuser to another database
    PGconn *conn;  // connection of the superuser to the trial's database; lives as long as that
                   // database
};

// Connects, but makes no database yet. `number` distinguishes the databases of several workers.
MUST_USE bool freshdb_open(
    struct freshdb *db, const struct server *server, bool copies, int number, struct err *e);

// Makes the database, or restores it to the template's state.
MUST_USE bool freshdb_renew(struct freshdb *db, struct err *e);

// Drops the database; accepts a freshdb that was never opened.
void freshdb_close(struct freshdb *db);

struct trial_result {
    enum verdict verdict;
    int reached;                 // number of the trial's cuts that were made; 0 to 2
    bool ran;                    // true: the trial has run to its end and has a verdict
    double values[METRIC_COUNT]; // NAN: not measured
    bool broken[METRIC_COUNT];
    struct judged judged[METRIC_COUNT];
    char example[METRIC_COUNT][160]; // the first case of each broken invariant
    char why[256];                   // the first reason of an inconclusive trial, or why the
                                     // harness gave the collector up; "": neither
    int64_t cut_ns[POINTS_CUTS_MAX]; // time of each cut
    double recovery_ms;              // ms that the recovery from the last cut took; NAN: unknown
    int64_t took_ns;
};

// The settings that all trials share. The server runs already.
struct trial_setting {
    const struct scenario *scenario;
    const char *collector; // --collector; NULL: the scenario names it
    const struct server *server;
    const char *log_dir;
    enum cut_action action;
};

// What the trials of one worker use one after another: its proxy and its database.
struct trial_fixture {
    struct proxy *proxy;
    struct freshdb db;
};

// The messages that collector and server exchanged in a trial.
struct trial_tally {
    struct transcript *transcript; // gets the messages; NULL: they are only counted
    unsigned all[2][256];          // numbers of messages by sender and type
    unsigned start[2];             // by sender: number of messages before the first line was read
};

// Runs a trial. `tally` gets its messages; it may be NULL. Returns false when the harness itself
// failed or was interrupted.
MUST_USE bool trial_run(const struct trial_setting *setting, struct trial_fixture *fixture,
    const struct trial_cuts *cuts, struct trial_result *result, struct trial_tally *tally,
    struct err *e);
