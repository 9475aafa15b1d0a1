// The steps between a decoded scenario and one that may run. The nodes below `root` know the place
// of each value, for error messages.
#pragma once

#include "scenario/node.h"
#include "scenario/scenario.h"

// Applies --scale: multiplies the length of the load, its backlog, and the `at` and `until` of
// faults; a scale below 1 also their `for`. The period of a repeated fault stays, so that the
// collector has as long as before to recover each time; the fault comes fewer or more times in the
// run. No fault lasts longer than before, because it must end before it comes again. A scale below
// 1 also lowers expectations such as `collector.deaths: ">= 10"`.
void scale_scenario(struct scenario *s, double scale);

// Refuses what a scenario of somebody else must not name. Call it before any file that the scenario
// names is opened. With TRUST_OWN it is as strict as with TRUST_PLAIN, so do not call it then for
// the user's own scenario. ERR_USAGE names the place, and what is refused. Values that the user's
// own options give are not checked.
MUST_USE bool trust_check(
    const struct scenario *s, const struct node *root, const struct overrides *sets, struct err *e);

// Applies the rules that a row of the grammar cannot express: defaults that depend on other keys,
// and rules about several keys. `path` is the scenario's file, which must have the scenario's name
// unless it is called scenario.yaml.
MUST_USE bool check_scenario(
    struct scenario *s, const struct node *root, const char *path, struct err *e);

// --- shared by rules.c and fault_rules.c -------------------------------------------

MUST_USE bool check_faults(struct scenario *s, const struct node *root, struct err *e);

// True when the file is called scenario.yaml. A result folder keeps its scenario under this name,
// with all options applied.
bool is_result_scenario(const char *path);

// These two find mistakes of the file. Both return false when an option of this command, or of the
// run that wrote a scenario.yaml, may have chosen the provider. Then the run is skipped.

// True when the file names another provider than the local one.
bool file_names_other_provider(const struct scenario *s, const struct node *root);
// True when the file names no cluster.
bool file_names_no_cluster(const struct scenario *s, const struct node *root);
