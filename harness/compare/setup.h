// Checks whether runs may be compared: they need the same scenario, machine, server and rules.
// Reads their result folders.
#pragma once

#include "base/buf.h"
#include "compare/compare.h"

// Compares all runs with the first one of the base. ERR_USAGE names the reason why they cannot
// be compared: different keys of the scenario, different rules, cuts on one side only. Seed,
// command and provider may differ.
MUST_USE bool setup_check(const struct side *base, const struct side *new, struct err *e);

// Adds one sentence for each permitted difference: machine, server, program, seeds.
void setup_notes(struct comparison *c);

// Appends the keys that differ between two resolved scenarios, such as "load.0.rate: 200/s in
// base, 300/s in new", and returns their number. Pure.
size_t setup_differences(
    const char *base, size_t base_len, const char *new, size_t new_len, struct buf *out);

// --- stored runs by their folders ----------------------------------------------------

// Adds every run at or below `path`: a result folder, the `latest` link to one, or
// folders of them at any depth. ERR_USAGE when there is none.
MUST_USE bool collect_runs(struct side *s, const char *path, struct err *e);

// Collects the runs of one scenario.
MUST_USE bool collect_scenario(
    struct side *s, const struct side *all, const char *scenario, struct err *e);
