// mailproof field --finding ID: repeats a finding with several seeds.
#pragma once

#include "options/options.h"

// Runs the finding's scenario against the subjects that show it, or with --control against those
// that do not. *code becomes 1 when it was seen, 0 when not, 2 when no run was conclusive. ERR_SKIP
// when a subject cannot be installed.
MUST_USE bool finding_reproduce(const struct options *o, const char *id, int *code, struct err *e);
