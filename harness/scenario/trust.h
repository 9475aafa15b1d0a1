// A scenario names commands, settings and files, so whoever wrote it may do what the user may. This
// refuses what a scenario of somebody else must not have.
#pragma once

#include "scenario/node.h"
#include "scenario/scenario.h"

// Checks a scenario that is decoded, and of which no file was read yet. ERR_USAGE names the place,
// and what would be run. What the user's own options give is not checked.
MUST_USE bool trust_check(
    const struct scenario *s, const struct node *root, const struct overrides *sets, struct err *e);
