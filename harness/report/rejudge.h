// Judges a stored run again. Call the steps in the order below. rejudge_fini accepts a zeroed
// struct, and one in which a step failed.
#pragma once

#include "check/check.h"
#include "ledger/history.h"
#include "scenario/scenario.h"

struct rejudge {
    struct scenario scenario;
    struct history history;
    struct check_input input; // borrows from the history
    struct result result;
};

// Reads the resolved scenario. ERR_USAGE when the folder is no result folder.
MUST_USE bool rejudge_scenario(struct rejudge *r, const char *folder, struct err *e);

// Reads the history. ERR_SYSTEM with the file's path when it is missing or damaged.
MUST_USE bool rejudge_history(struct rejudge *r, const char *folder, struct err *e);

// Judges the run by the checks of this version.
void rejudge_judge(struct rejudge *r);

// Finds a token by its login (t0000042), its address or its number (42, or "job 42").
MUST_USE bool rejudge_token(
    const struct ledger *l, const char *text, uint32_t *token, struct err *e);

void rejudge_fini(struct rejudge *r);
