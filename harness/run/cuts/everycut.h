// mailproof run --every-cut and --every-kill. They run a small workload (steps.h) to learn which
// messages it exchanges. Then they repeat the workload twice for each message, and cut the
// connection or kill the collector before the message or after it. --pairs adds trials with a
// second cut or kill while the collector recovers from the first.
#pragma once

#include "run/cuts/points.h"
#include "run/runner.h"
#include "shards/shard_record.h"

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
