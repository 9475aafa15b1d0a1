// The table of everything that a run measures. `expect`, `allow`, result.json, `mailproof list`
// and the report take their names from it.
#pragma once

#include "base/base.h"

struct scenario;

// The metrics in the order of the table, so that metrics[id].id == id.
enum metric_id {
    METRIC_ATTEMPTED,
    METRIC_COMMITTED,
    METRIC_ROLLED_BACK,
    METRIC_UNKNOWN,
    METRIC_EXPECTED,
    METRIC_UNDELIVERABLE,
    METRIC_DELIVERED,
    METRIC_LOST,
    METRIC_PHANTOM,
    METRIC_PREMATURE,
    METRIC_INELIGIBLE,
    METRIC_DUPLICATED,
    METRIC_VANISHED,
    METRIC_OVER_LIMIT,
    METRIC_UNDERFULL,
    METRIC_EARLY,
    METRIC_LATE,
    METRIC_OUT_OF_ORDER,
    METRIC_TORN,
    METRIC_FORGED,
    METRIC_RECOVERED,
    METRIC_REDELIVERED,
    METRIC_LEFT_BEHIND,
    METRIC_REPEATED,
    METRIC_LATE_LINES,
    METRIC_EXPIRED_UNSENT,
    METRIC_PASSED,
    METRIC_CONFLICTED,
    METRIC_UNPLANNED_EXIT,
    METRIC_UNRECOVERED,
    METRIC_FALLS_BEHIND,
    METRIC_IDLE_INSTANCE,
    METRIC_BUSY_IDLE,
    METRIC_LEAK,
    METRIC_END_STATE,
    METRIC_MEDDLES,
    METRIC_LITTERS,
    METRIC_TELLS_SECRETS,
    METRIC_HOLDS,
    METRIC_DOUBLE_LEASED,
    METRIC_RESURRECTED,
    METRIC_EARLY_RETRY,
    METRIC_NEVER_RETRIED,
    METRIC_OVER_ATTEMPTS,
    METRIC_OVER_BUDGET,
    METRIC_MISRECORDED,
    METRIC_STARVED,
    METRIC_PENDING,
    METRIC_OUTCOME_LATENCY_P50,
    METRIC_OUTCOME_LATENCY_P99,
    METRIC_OUTCOME_LATENCY_MAX,
    METRIC_LATENCY_P50,
    METRIC_LATENCY_P90,
    METRIC_LATENCY_P99,
    METRIC_LATENCY_P999,
    METRIC_LATENCY_MAX,
    METRIC_LATENCY_MEAN,
    METRIC_COMMIT_LATENCY_P50,
    METRIC_COMMIT_LATENCY_P90,
    METRIC_COMMIT_LATENCY_P99,
    METRIC_COMMIT_LATENCY_P999,
    METRIC_COMMIT_LATENCY_MAX,
    METRIC_COMMIT_LATENCY_MEAN,
    METRIC_RATE_OFFERED,
    METRIC_RATE_ACHIEVED,
    METRIC_RATE_DELIVERED,
    METRIC_RECOVERY_MAX,
    METRIC_COLLECTOR_DEATHS,
    METRIC_COLLECTOR_RECONNECTS,
    METRIC_COLLECTOR_BATCHES,
    METRIC_COLLECTOR_RSS_MAX_KB,
    METRIC_COLLECTOR_CPU_S,
    METRIC_GENERATOR_LAG_P99_MS,
    METRIC_GENERATOR_DROPPED,
    METRIC_COUNT,
};

// The units, and how an expectation gives a value in them.
enum metric_unit {
    UNIT_COUNT, // written as a bare number
    UNIT_KB,    // written as a bare number
    UNIT_MS,    // written as a duration
    UNIT_S,     // written as a duration
    UNIT_PER_S, // written as a rate
};

// What is counted for an invariant's judged share.
enum metric_over {
    OVER_NOTHING, // for a metric that is no invariant
    OVER_TOKENS,
    OVER_LINES,
    OVER_SECONDS,
    OVER_FAULTS,
    OVER_PROCESSES,
};

// The kinds of subjects. An invariant says for which of them it is judged.
enum metric_subject {
    FOR_QUEUE = 1 << 0,     // a queue that is judged in place of a collector
    FOR_FOREIGN = 1 << 1,   // a collector of mail lines whose tables are its own
    FOR_REFERENCE = 1 << 2, // a collector that uses the reference collector's tables
    FOR_MAIL = FOR_FOREIGN | FOR_REFERENCE,
    FOR_ALL = FOR_QUEUE | FOR_MAIL,
};

// The properties of a metric that decide in which runs it is judged, or may convict.
enum metric_trait {
    TRAIT_TIME = 1 << 0,      // a busy machine alone can break the invariant or distort the figure
    TRAIT_COLLECTOR = 1 << 1, // it can be judged only if a collector is left at the run's end
    TRAIT_RARE = 1 << 2,      // only some runs have something to judge; the others do not show it
};

struct metric {
    enum metric_id id;
    const char *name;
    enum metric_unit unit;
    bool invariant; // an invariant: the value must be 0 unless `allow` says otherwise
    enum metric_over over;
    unsigned promise;  // a bit of enum promise: judged only when the subject makes this promise; 0:
                       // always
    unsigned subjects; // bits of enum metric_subject
    unsigned traits;   // bits of enum metric_trait
    const char *help;
};

extern const struct metric metrics[METRIC_COUNT];

// Finds a metric by its name; NULL when there is none.
const struct metric *metric_find(const char *name);

// As metric_find, but finds only invariants if `only_invariants`. If there is none, returns NULL
// and sets ERR_USAGE, with the nearest name.
const struct metric *metric_named(const char *name, bool only_invariants, struct err *e);

// True when the metric is for subjects such as the scenario's.
bool metric_is_for(enum metric_id id, const struct scenario *s);

// Returns the subjects that the metric is for, such as "collectors of mail lines"; "" for all.
const char *metric_subjects(enum metric_id id);

// Returns what a metric is counted over, such as "tokens" or "lines".
const char *metric_over_name(enum metric_over over);

// Returns a unit such as "ms" or "1/s"; "" for a count.
const char *metric_unit_name(enum metric_unit unit);

// Writes a value with its unit, such as "119.275 ms", or "not measured" for NAN. Returns `out`.
const char *metric_text(enum metric_id id, double value, char *out, size_t size);
