// Finds the scenario files that the user means.
#pragma once

#include <stddef.h>

#include "base/err.h"

struct paths {
    char **items; // owned
    size_t count;
};

// Appends the files that `name` stands for: a file; a folder's *.yaml, sorted;
// a result folder's scenario.yaml; or a name in the scenarios/ that came with
// mailproof, or that folder itself. ERR_USAGE when it is none of these.
MUST_USE bool locate_scenarios(struct paths *p, const char *name, struct err *e);
void locate_fini(struct paths *p);
