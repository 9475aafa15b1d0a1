// A stored run, from its folder back to its verdict. The steps come in the order
// below; a zeroed struct is fine for replay_fini, whatever step failed.
#pragma once

#include "base/err.h"
#include "check/check.h"
#include "ledger/history.h"
#include "scenario/scenario.h"

struct replay {
    struct scenario scenario;
    struct history history;
    struct check_input input; // borrows from the history
    struct result result;
};

// The scenario as it was resolved for the run. ERR_USAGE: it is not a result folder.
MUST_USE bool replay_scenario(struct replay *r, const char *folder, struct err *e);

// ERR_SYSTEM, with the file's path: there is no whole history.
MUST_USE bool replay_history(struct replay *r, const char *folder, struct err *e);

// What this version of the checks says of it.
MUST_USE bool replay_judge(struct replay *r, struct err *e);

void replay_fini(struct replay *r);
