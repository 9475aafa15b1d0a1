// The fault verbs a scenario may name: one table for validation, `mailproof
// list` and, by id, for the functions in fault/ that carry them out.
#pragma once

#include <stdbool.h>
#include <stddef.h>

enum fault_target { TARGET_COLLECTOR, TARGET_LOAD, TARGET_ALL };

enum verb_id {
    VERB_TERMINATE_BACKEND,
    VERB_CANCEL_QUERY,
    VERB_STOP_SERVER,
    VERB_RESTART_SERVER,
    VERB_CRASH_SERVER,
    VERB_KILL_SERVER,
    VERB_PAUSE_SERVER,
    VERB_KILL_COLLECTOR,
    VERB_STOP_COLLECTOR,
    VERB_PAUSE_COLLECTOR,
};

// Which parameters a verb takes beyond at, every and until.
enum verb_param {
    PARAM_FOR = 1 << 0,       // may last; without it, an instant
    PARAM_NEEDS_FOR = 1 << 1, // must say how long; comes together with PARAM_FOR
    PARAM_TARGET = 1 << 2,
    PARAM_INSTANCE = 1 << 3,
};

struct verb {
    const char *name; // as in the scenario file
    enum verb_id id;
    unsigned params; // of enum verb_param
    bool kills_collector;
    bool stops_server; // the server is away while it lasts
    const char *help;  // one line for people
};

extern const struct verb verbs[];
extern const size_t verb_count;

// NULL when there is no such verb.
const struct verb *verb_find(const char *name);

// True for a verb that a later version will carry out, so that its refusal can
// say so instead of calling it unknown.
bool verb_is_planned(const char *name);

const char *fault_target_name(enum fault_target target);
