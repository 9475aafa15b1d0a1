// Tries one state of --every-flush: starts a server on the disk that a power cut left, and a
// collector, as after the death of their host.
#pragma once

#include "postgres/provider.h"
#include "postgres/states.h"
#include "scenario/scenario.h"
#include "subject/subject.h"

#define AFTERLIFE_TOKENS 40

// The events of the recorded workload, all by one clock.
struct before {
    int64_t sent_ns[AFTERLIFE_TOKENS];  // 0: never
    int64_t acked_ns[AFTERLIFE_TOKENS]; // 0: never
    const struct subject_log *log;      // its lines count as delivered when they were read
    bool amcheck;                       // the database can be looked through for damage
};

struct afterlife_result {
    bool starts;         // the server starts and answers
    unsigned vanished;   // acknowledged before the cut and missing
    unsigned lost;       // present, but read neither before nor after the cut
    unsigned duplicated; // read twice, and not in the last line before the cut
    unsigned damaged;    // a page or an index that is broken
    unsigned exits;      // ends of the collector that nobody asked for
    char why[200];       // the server's words, when it does not start or is damaged
    int64_t oldest_ns;   // how long before the cut the oldest of the vanished was acknowledged
    int64_t took_ns;
};

struct afterlife_setting {
    const struct scenario *scenario;
    const char *collector; // --collector; NULL: the scenario's
    struct server *server; // not running; its disk is in the state
    const char *log_dir;
};

// Starts a collector on the running server. The caller owns it; `command` must outlive it.
struct command;
MUST_USE struct subject *afterlife_start_collector(
    const struct afterlife_setting *setting, struct command *command, struct err *e);

// Commits a token of the workload as the load would.
MUST_USE bool afterlife_insert(PGconn *conn, uint32_t token, struct err *e);

// False when the harness itself failed.
MUST_USE bool afterlife_try(const struct afterlife_setting *setting, const struct before *before,
    const struct state *state, struct afterlife_result *result, struct err *e);
