// Finds stored runs by their folders.
#pragma once

#include "compare/compare.h"

// Adds every run at or below `path`: a result folder, the `latest` link to one, or
// folders of them at any depth. ERR_USAGE when there is none.
MUST_USE bool collect_runs(struct side *s, const char *path, struct err *e);

// Collects the runs of one scenario.
MUST_USE bool collect_scenario(
    struct side *s, const struct side *all, const char *scenario, struct err *e);
