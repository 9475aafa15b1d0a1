// The options of `mailproof run` about cuts, kills and flushes.
#pragma once

#include "options/options.h"
#include "run/cuts/points.h"
#include "run/runner.h"
#include "shards/shard_record.h"

// True with --every-cut or --every-kill.
bool cuts_tried(const struct options *o);

// Checks that the options about cuts, kills and flushes go together. ERR_USAGE if not.
MUST_USE bool cuts_possible(const struct options *o, struct err *e);

// Checks that the scenarios can be run with these options. ERR_USAGE if one cannot.
MUST_USE bool cuts_fit(
    const struct scenario *scenarios, size_t count, const struct options *o, struct err *e);

// Makes trials that cut the connection, or kill the collector, at every message, and fills in the
// outcome as run_scenario does. The trials become lines of the record, under the number `item`.
MUST_USE bool cuts_run(const struct scenario *s, const struct options *o,
    const struct run_options *run, struct record *record, uint64_t item,
    struct run_outcome *outcome, struct err *e);

// --- everycut.c --------------------------------------------------------------------
//
// mailproof run --every-cut and --every-kill. They run a small workload (steps.c) to learn which
// messages it exchanges. Then they repeat the workload twice for each message, and cut the
// connection or kill the collector before the message or after it. --pairs adds trials with a
// second cut or kill while the collector recovers from the first.

struct everycut_options {
    enum cut_action action;
    const struct message_kind *only; // the kind of message to cut at, without its tag; NULL: all
                                     // kinds
    size_t pairs;
    struct record *record; // the trials are added to it; it may already have trials of an earlier
                           // call, or of all shards
    uint64_t item;         // the item number of the trials' lines
};

// Runs all trials as one run, as run_scenario does for a scenario. It uses the scenario's postgres,
// collector, recovery_limit, slack, allow and seed, and ignores its load, faults and expectations.
// There is one collector and no standby.
MUST_USE bool everycut_run(const struct scenario *s, const struct run_options *o,
    const struct everycut_options *how, struct run_outcome *outcome, struct err *e);

// --- everyflush.c ------------------------------------------------------------------
//
// mailproof run --every-flush. It runs a small workload once, on a disk that is recorded. For each
// flush in the recording it then puts the disk into the state that it would have had if the whole
// host had lost power just before that flush. On each state a server starts and recovers, and is
// judged; the workload does not run again.

// Tries all states as one run, as run_scenario runs a scenario. It uses the scenario's postgres,
// with crashable storage, its collectors, recovery_limit, slack, allow, seed and, in leased mode,
// drain. A workload of its own replaces the scenario's load and faults, and a verdict of its own
// (see everyflush_trial.c) its expectations. `allow` counts for each state.
MUST_USE bool everyflush_run(const struct scenario *s, const struct run_options *o,
    struct run_outcome *outcome, struct err *e);
