// Puts the jobs through a subject's own client. "put N" goes to its standard input, and "put-ok N"
// comes back once the job is committed. This tests less than transactions of ours, because there
// are no rollbacks and no transactions held open. Nobody can find out afterwards whether a put
// without an answer happened.
#pragma once

#include "load/load.h"

// Does what load_run does, for a config with a producer. Each transaction must have one row.
MUST_USE bool producer_run(const struct load_config *config, struct load_progress *progress,
    struct load_result *result, struct err *e);
