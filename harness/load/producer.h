// Puts the jobs into a subject's queue through the subject's own client. The client reads "put N"
// from its standard input, and answers "put-ok N" when the job is committed. Such a load tests
// less than the generator's own transactions: there are no rollbacks, no transactions are held
// open, and nobody can find out afterwards whether a put without an answer happened.
#pragma once

#include "load/load.h"

// Does what load_run does, for a config with a producer. Each transaction must have one row.
MUST_USE bool producer_run(const struct load_config *config, struct load_progress *progress,
    struct load_result *result, struct err *e);
