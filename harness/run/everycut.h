// mailproof run --every-cut: learns which messages a small deterministic
// workload exchanges, then repeats it once for each message and side, with the
// connection cut there.
#pragma once

#include "runner.h"
#include "scenario/messages.h"

// As run_scenario. Of the scenario it uses postgres, collector, recovery_limit
// and seed; its load and faults are replaced. `only` are the messages to cut
// at; NULL: all. It has no command's tag. There is no standby and one collector.
MUST_USE bool everycut_run(const struct scenario *s, const struct run_options *o,
    const struct message_kind *only, struct run_outcome *outcome, struct err *e);
