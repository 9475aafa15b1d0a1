// The options of `mailproof run` about cuts, kills and flushes.
#pragma once

#include "options/options.h"
#include "run/runner.h"
#include "shards/shard_record.h"

// True with --every-cut or --every-kill.
bool cuts_tried(const struct options *o);

// Checks that the options about cuts, kills and flushes go together.
MUST_USE bool cuts_possible(const struct options *o, struct err *e);

// Refuses the scenarios that cannot be run with these options.
MUST_USE bool cuts_fit(
    const struct scenario *scenarios, size_t count, const struct options *o, struct err *e);

// Cuts, or kills, at every message, as run_scenario runs a scenario. The record takes the trials as
// lines of the item.
MUST_USE bool cuts_run(const struct scenario *s, const struct options *o,
    const struct run_options *run, struct record *record, uint64_t item,
    struct run_outcome *outcome, struct err *e);
