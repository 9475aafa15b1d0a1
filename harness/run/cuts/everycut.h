// mailproof run --every-cut and --every-kill. They learn which messages a small workload exchanges
// (steps.h). Then they repeat the workload once for each message and each side of it, and cut the
// connection or kill the collector there. --pairs adds trials with a second cut or kill while the
// collector recovers from the first.
#pragma once

#include "run/cuts/points.h"
#include "run/runner.h"
#include "shards/shard_record.h"

struct everycut_options {
    enum cut_action action;
    const struct message_kind *only; // the kind of message to cut at, without its tag; NULL: all
                                     // kinds
    size_t pairs;
    struct record *record; // takes the trials, and has those that are made already
    uint64_t item;         // the number that their lines have in it
};

// Runs all trials as one run, as run_scenario does for a scenario. It uses the scenario's postgres,
// collector, recovery_limit, slack, allow and seed, and ignores its load, faults and expectations.
// There is one collector and no standby.
MUST_USE bool everycut_run(const struct scenario *s, const struct run_options *o,
    const struct everycut_options *how, struct run_outcome *outcome, struct err *e);
