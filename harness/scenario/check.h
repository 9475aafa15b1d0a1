// What a table's row cannot say: defaults that depend on other keys, and rules
// between keys.
#pragma once

#include "scenario/node.h"
#include "scenario/scenario.h"

// Completes a decoded scenario and judges it; `root` tells where things stand.
MUST_USE bool check_scenario(
    struct scenario *s, const struct node *root, const char *path, struct err *e);
