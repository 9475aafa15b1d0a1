// The rules that a row of the grammar cannot express: defaults that depend on other keys, and
// rules between keys.
#pragma once

#include "scenario/node.h"
#include "scenario/scenario.h"

// Completes a decoded scenario and validates it. `root` holds the place of each value, for
// error messages.
MUST_USE bool check_scenario(
    struct scenario *s, const struct node *root, const char *path, struct err *e);
