// The steps between a decoded scenario and one that may run. The nodes below `root` know the place
// of each value, for error messages.
#pragma once

#include "scenario/node.h"
#include "scenario/scenario.h"

// --scale: multiplies the length of the load and the times of the faults. A fault's period stays:
// the collector has as long as before to recover from each, and there are fewer or more of them. A
// fault lasts no longer than before, because it must end before the next one.
MUST_USE bool scale_scenario(struct scenario *s, double scale, struct err *e);

// A scenario names commands, settings and files, so whoever wrote it may do what the user may. This
// refuses what a scenario of somebody else must not have, before any file is read. ERR_USAGE names
// the place, and what would be run. What the user's own options give is not checked.
MUST_USE bool trust_check(
    const struct scenario *s, const struct node *root, const struct overrides *sets, struct err *e);

// Applies the rules that a row of the grammar cannot express: defaults that depend on other keys,
// and rules about several keys.
MUST_USE bool check_scenario(
    struct scenario *s, const struct node *root, const char *path, struct err *e);

// --- shared by rules.c and fault_rules.c -------------------------------------------

MUST_USE bool check_faults(struct scenario *s, const struct node *root, struct err *e);

// True for a scenario.yaml, the name that a result folder gives its scenario.
bool check_is_kept(const char *path);

// Tell whether the scenario's file names a provider other than the local one, or no cluster.
bool check_says_elsewhere(const struct scenario *s, const struct node *root);
bool check_says_no_cluster(const struct scenario *s, const struct node *root);
