// mailproof run --every-flush. It runs a small workload once on a recorded disk. It then goes
// through every flush: the state of the disk if the whole host had lost power just before that
// flush. Each state is started, recovered and judged; the workload does not run again.
#pragma once

#include "runner.h"

// Runs like run_scenario. It uses the scenario's postgres, with crashable storage, its
// collectors, recovery_limit and seed, and replaces its load and faults.
MUST_USE bool everyflush_run(const struct scenario *s, const struct run_options *o,
    struct run_outcome *outcome, struct err *e);
