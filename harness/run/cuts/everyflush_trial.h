// Tries one state of --every-flush. It starts a server on the disk that a power cut left, and then
// collectors, as after the death of their host.
#pragma once

#include "postgres/provider.h"
#include "postgres/local/states.h"
#include "scenario/scenario.h"
#include "subject/subject.h"

#define FLUSH_TRIAL_TOKENS 40
// Includes the token that is inserted after the cut.
#define FLUSH_TRIAL_ALL (FLUSH_TRIAL_TOKENS + 1)

// The events of the recorded workload, all by one clock.
struct before {
    int64_t sent_ns[FLUSH_TRIAL_TOKENS];     // when each insert was sent; 0: never
    int64_t acked_ns[FLUSH_TRIAL_TOKENS];    // when each insert was acknowledged; 0: never
    int64_t recorded_ns[FLUSH_TRIAL_TOKENS]; // leased: when each token's end was seen in the
                                             // database; 0: never
    const struct subject_log *log;           // its lines count as delivered at the time at which
                                             // they were read
    bool amcheck;                            // the extension amcheck, which looks for damage, is
                                             // installed
};

struct flush_trial_result {
    bool starts;         // true: the server starts and answers
    unsigned vanished;   // number of tokens that were acknowledged before the cut and are missing
    unsigned lost;       // number of tokens that are present, but were never read, or have no end
    unsigned duplicated; // number of tokens read again that were not in doubt at the cut
    unsigned damaged;    // number of broken pages and indexes
    unsigned exits;      // number of ends of the collector that nobody asked for
    uint64_t again;      // number of the recovery's flush at which a second cut came; 0: none
    struct state second; // the state that the second cut left
    bool repaired;       // the file system had to be repaired
    char why[200];       // the server's message, when it does not start or is damaged
    int64_t oldest_ns;   // how long before the cut the oldest vanished token was acknowledged
    int64_t took_ns;
};

struct flush_trial_setting {
    const struct scenario *scenario;
    const char *collector; // --collector; NULL: the scenario names it
    struct server *server; // the server, which does not run; its disk is in the state
    bool leased;           // the scenario's collector waits for answers
    const char *log_dir;
};

// Starts this many collectors on the running server. In leased mode the harness answers their
// lines. The caller owns the result; `command` must outlive it.
struct command;
MUST_USE struct subject *flush_trial_start_collectors(const struct flush_trial_setting *setting,
    int instances, struct command *command, struct err *e);

// Tells, in leased mode, which tokens have an end in the database. `conn` is a connection of the
// superuser.
MUST_USE bool flush_trial_find_ended(PGconn *conn, bool ended[FLUSH_TRIAL_ALL], struct err *e);

// Commits a token of the workload, as the load would do.
MUST_USE bool flush_trial_insert(PGconn *conn, uint32_t token, struct err *e);

// The settings of the trial of one state.
struct flush_trial {
    int instances;       // number of collectors that start again
    bool again;          // true: the power is cut a second time, while the server recovers
    uint64_t again_seed; // decides at which flush the second cut comes, and what it keeps
};

// Starts the server and the collectors, and judges the lines that come. False when the harness
// itself failed.
MUST_USE bool flush_trial_run(const struct flush_trial_setting *setting,
    const struct before *before, const struct state *state, const struct flush_trial *trial,
    struct flush_trial_result *result, struct err *e);
