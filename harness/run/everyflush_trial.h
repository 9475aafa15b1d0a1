// Tries one state of --every-flush: starts a server on the disk that a power cut left, and
// collectors, as after the death of their host.
#pragma once

#include "postgres/provider.h"
#include "postgres/states.h"
#include "scenario/scenario.h"
#include "subject/subject.h"

#define FLUSH_TRIAL_TOKENS 40
#define FLUSH_TRIAL_ALL (FLUSH_TRIAL_TOKENS + 1) // and one that is inserted after the cut

// The events of the recorded workload, all by one clock.
struct before {
    int64_t sent_ns[FLUSH_TRIAL_TOKENS];     // 0: never
    int64_t acked_ns[FLUSH_TRIAL_TOKENS];    // 0: never
    int64_t recorded_ns[FLUSH_TRIAL_TOKENS]; // leased: its end was seen in the database; 0: never
    const struct subject_log *log;           // its lines count as delivered when they were read
    bool amcheck;                            // the extension that looks for damage is there
};

struct flush_trial_result {
    bool starts;         // the server starts and answers
    unsigned vanished;   // acknowledged before the cut and missing
    unsigned lost;       // present, but read neither before nor after the cut, or without an end
    unsigned duplicated; // read again, and not from a line that was in doubt at the cut
    unsigned damaged;    // a page or an index that is broken
    unsigned exits;      // ends of the collector that nobody asked for
    uint64_t again;      // the flush of the recovery at which a second cut came; 0: none
    struct state second; // the state that the second cut left
    bool repaired;       // its file system had to be repaired
    char why[200];       // the server's words, when it does not start or is damaged
    int64_t oldest_ns;   // how long before the cut the oldest of the vanished was acknowledged
    int64_t took_ns;
};

struct flush_trial_setting {
    const struct scenario *scenario;
    const char *collector; // --collector; NULL: the scenario's
    struct server *server; // not running; its disk is in the state
    bool leased;           // the scenario's collector waits for answers
    const char *log_dir;
};

// Starts this many collectors on the running server. In leased mode the harness answers their
// lines. The caller owns them; `command` must outlive them.
struct command;
MUST_USE struct subject *flush_trial_start_collectors(const struct flush_trial_setting *setting,
    int instances, struct command *command, struct err *e);

// In leased mode: which tokens have an end in the database. `conn` is the superuser's.
MUST_USE bool flush_trial_find_ended(PGconn *conn, bool ended[FLUSH_TRIAL_ALL], struct err *e);

// Commits a token of the workload as the load would.
MUST_USE bool flush_trial_insert(PGconn *conn, uint32_t token, struct err *e);

// The settings of the trial of one state.
struct flush_trial {
    int instances;       // of the collectors that start again
    bool again;          // the power is cut a second time, while the server recovers
    uint64_t again_seed; // draws the flush of the second cut, and what it keeps
};

// Starts the server and the collectors, and judges what comes. False when the harness itself
// failed.
MUST_USE bool flush_trial_run(const struct flush_trial_setting *setting,
    const struct before *before, const struct state *state, const struct flush_trial *trial,
    struct flush_trial_result *result, struct err *e);
