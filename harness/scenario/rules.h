// The rules that a row of the grammar cannot express: defaults that depend on other keys, and rules
// about several keys.
#pragma once

#include "scenario/node.h"
#include "scenario/scenario.h"

// Completes a decoded scenario and validates it. The nodes below `root` know the place of each
// value, for error messages.
MUST_USE bool check_scenario(
    struct scenario *s, const struct node *root, const char *path, struct err *e);

// --- shared by rules.c and fault_rules.c -------------------------------------------

MUST_USE bool check_faults(struct scenario *s, const struct node *root, struct err *e);

// True for a scenario.yaml, the name that a result folder gives its scenario.
bool check_is_kept(const char *path);

// Tell whether the scenario's file names a provider other than the local one, or no cluster.
bool check_says_elsewhere(const struct scenario *s, const struct node *root);
bool check_says_no_cluster(const struct scenario *s, const struct node *root);
