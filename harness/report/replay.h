// Judges a stored run again. Call the steps in the order below. replay_fini accepts a zeroed
// struct, and one in which a step failed.
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

// Reads the resolved scenario. ERR_USAGE when the folder is no result folder.
MUST_USE bool replay_scenario(struct replay *r, const char *folder, struct err *e);

// Reads the history. ERR_SYSTEM with the file's path when it is missing or damaged.
MUST_USE bool replay_history(struct replay *r, const char *folder, struct err *e);

// Judges the run by the checks of this version.
MUST_USE bool replay_judge(struct replay *r, struct err *e);

// Finds a token by its login (t0000042), its address or its number (42).
MUST_USE bool replay_token(
    const struct ledger *l, const char *text, uint32_t *token, struct err *e);

void replay_fini(struct replay *r);
