// One run of --every-flush, with its states and their results. Shared by everyflush.c,
// everyflush_trial.c and everyflush_report.c.
#pragma once

#include "postgres/durability.h"
#include "postgres/local/states.h"
#include "postgres/provider.h"
#include "report/folder.h"
#include "run/cuts/cuts.h"
#include "scenario/scenario.h"
#include "subject/command.h"
#include "subject/subject.h"

// --- everyflush_trial.c ------------------------------------------------------------
//
// Tries one state of --every-flush: starts a server on the disk as a power cut has left it, and
// then collectors, as after the death of their host, and counts what is wrong.

#define FLUSH_TRIAL_TOKENS 40
// Includes the token that is inserted after the cut.
#define FLUSH_TRIAL_ALL (FLUSH_TRIAL_TOKENS + 1)

// The events of the recorded workload. All times are by one clock.
struct flush_workload {
    int64_t sent_ns[FLUSH_TRIAL_TOKENS];     // when each insert was sent; 0: never
    int64_t acked_ns[FLUSH_TRIAL_TOKENS];    // when each insert was acknowledged; 0: never
    int64_t recorded_ns[FLUSH_TRIAL_TOKENS]; // leased: when each token's end was seen in the
                                             // database; 0: never
    const struct subject_log *log;           // the lines; each counts as delivered at the time at
                                             // which it was read
    bool amcheck;                            // true: the extension amcheck, which looks for damage,
                                             // is installed
};

// The kinds of failure. struct flush_trial_result counts the cases of each.
enum flush_failure {
    FLUSH_UNSTARTABLE, // the server does not start, or does not answer
    FLUSH_VANISHED,    // tokens that were acknowledged before the cut and are missing
    FLUSH_LOST,        // tokens that are present, but were never read; leased: or have no end
    FLUSH_DUPLICATED,  // repeated deliveries that nothing excuses
    FLUSH_DAMAGED,     // broken tuples, and queries that failed on broken data
    FLUSH_EXITS,       // ends of the collector that nobody asked for
    FLUSH_FAILURES,
};

struct flush_trial_result {
    unsigned failures[FLUSH_FAILURES]; // number of cases of each kind
    uint64_t second_cut_flush; // the flush of the recovery, counted from 1, at which a second cut
                               // came; 0: no second cut
    struct state second;       // the state that the second cut left
    bool repaired;             // the file system had to be repaired
    char why[200];             // the server's message when it does not start, or what is damaged
    int64_t oldest_ns;         // how long before the cut the oldest vanished token was acknowledged
    int64_t took_ns;
};

// The settings that all trials share.
struct flush_trial_setting {
    const struct scenario *scenario;
    const char *collector; // --collector; NULL: the scenario names it
    struct server *server; // when flush_trial_run is called, its disk has been put into the state,
                           // and it does not run
    bool leased;           // the scenario's collector waits for answers
    const char *log_dir;
};

// Starts `instances` collectors on the running server. In leased mode the harness answers their
// lines. The caller owns the subject that is returned; NULL on failure. `command` must outlive it.
MUST_USE struct subject *flush_trial_start_collectors(const struct flush_trial_setting *setting,
    int instances, struct command *command, struct err *e);

// For leased mode: marks in `ended` the tokens that have an end in the database. `conn` is a
// connection of the superuser.
MUST_USE bool flush_trial_find_ended(PGconn *conn, bool ended[FLUSH_TRIAL_ALL], struct err *e);

// Commits a token of the workload, as the load would do.
MUST_USE bool flush_trial_insert(PGconn *conn, uint32_t token, struct err *e);

// The part of a trial that differs from the other trials.
struct flush_trial {
    int instances;            // number of collectors that start again
    bool second_cut;          // true: the power is cut a second time, while the server recovers
    uint64_t second_cut_seed; // decides at which flush the second cut comes, and what it keeps
};

// Starts the server and the collectors, and judges the lines that come. False when the harness
// itself failed.
MUST_USE bool flush_trial_run(const struct flush_trial_setting *setting,
    const struct flush_workload *workload, const struct state *state,
    const struct flush_trial *trial, struct flush_trial_result *result, struct err *e);

struct flushes {
    struct flush_trial_setting setting;
    const struct run_options *options;
    struct server server;
    struct folder folder;
    struct durability_proof proof;
    struct flush_workload workload;
    struct subject *subject; // the collectors of the workload
    struct command command;
    struct state *states;               // owned; one for each flush, and one for the end
    struct flush_trial_result *results; // owned; one for each of the states
    uint64_t count;                     // number of the states
    int64_t took_ns;                    // time of all trials together
};

// Writes the files of the result folder, prints the summary and fills the outcome.
MUST_USE bool everyflush_report(struct flushes *f, struct run_outcome *outcome, struct err *e);
