// Checks whether runs may be compared: they need the same scenario and the same rules. Notes what
// else differs, such as machine and server. Reads their result folders.
#pragma once

#include "compare/compare.h"

// Compares all runs with the first run of the base. ERR_USAGE names the reason why they cannot be
// compared: different keys of the scenario (but for seed, command and provider), different rules,
// cuts on one side only.
MUST_USE bool setup_check(const struct side *base, const struct side *new, struct err *e);

// Adds a sentence to c->notes for each permitted difference: machine, server, program, seeds.
void setup_notes(struct comparison *c);

// Appends the first few keys that differ between two resolved scenarios, such as "load.0.rate:
// 200/s in base, 300/s in new", and returns how many differ. Pure.
size_t setup_differences(
    const char *base, size_t base_len, const char *new, size_t new_len, struct buf *out);

// --- stored runs by their folders ----------------------------------------------------

// Adds every run at or below `path`: a result folder, the `latest` link to one, or folders of
// results at any depth. An interrupted run is only counted. ERR_USAGE when there is no result.
MUST_USE bool collect_runs(struct side *s, const char *path, struct err *e);

// Adds those runs of `all` that are of one scenario. Returns false without memory.
MUST_USE bool collect_scenario(
    struct side *s, const struct side *all, const char *scenario, struct err *e);
