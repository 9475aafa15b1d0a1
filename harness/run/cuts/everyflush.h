// mailproof run --every-flush. It runs a small workload once on a recorded disk. Then it goes
// through every flush of the record. The state of a flush is the disk as if the whole host had lost
// power just before that flush. On each state a server is started, recovers and is judged; the
// workload does not run again.
#pragma once

#include "run/runner.h"

// Runs all states as one run, as run_scenario does for a scenario. It uses the scenario's postgres,
// with crashable storage, its collectors, recovery_limit and seed, and replaces its load and
// faults.
MUST_USE bool everyflush_run(const struct scenario *s, const struct run_options *o,
    struct run_outcome *outcome, struct err *e);
