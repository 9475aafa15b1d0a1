// mailproof run --every-flush: runs a small workload once on a recorded disk, then
// goes through every flush of it: the state that the disk would be in had the power
// of the whole host gone just before that flush. Each state is started, recovered
// and judged; the workload is not run again.
#pragma once

#include "runner.h"

// As run_scenario. Of the scenario it uses postgres, whose storage is crashable, the
// one collector, recovery_limit and seed; its load and faults are replaced.
MUST_USE bool everyflush_run(const struct scenario *s, const struct run_options *o,
    struct run_outcome *outcome, struct err *e);
