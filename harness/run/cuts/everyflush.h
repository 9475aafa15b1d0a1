// mailproof run --every-flush. It runs a small workload once, on a disk that is recorded. For each
// flush in the recording it then puts the disk into the state that it would have had if the whole
// host had lost power just before that flush. On each state a server starts and recovers, and is
// judged; the workload does not run again.
#pragma once

#include "run/runner.h"

// Tries all states as one run, as run_scenario runs a scenario. It uses the scenario's postgres,
// with crashable storage, its collectors, recovery_limit and seed. A workload of its own replaces
// the scenario's load and faults.
MUST_USE bool everyflush_run(const struct scenario *s, const struct run_options *o,
    struct run_outcome *outcome, struct err *e);
