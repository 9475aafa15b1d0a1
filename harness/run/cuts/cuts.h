// The options of `mailproof run` about cuts, kills and flushes.
#pragma once

#include "options/options.h"
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
