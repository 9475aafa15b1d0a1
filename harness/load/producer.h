// A subject's own client puts the jobs: "put N" to its standard input, "put-ok N" back once the job
// is committed. This tests less than transactions of ours: there are no rollbacks and no held
// transactions. A put without an answer may have happened, which cannot be found out afterwards.
#pragma once

#include "load/load.h"

// Does what load_run does, for a config with a producer. Each transaction has one row.
MUST_USE bool producer_run(const struct load_config *config, struct load_progress *progress,
    struct load_result *result, struct err *e);
