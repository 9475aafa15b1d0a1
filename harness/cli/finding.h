// mailproof field --finding ID: repeats a finding with several seeds.
#pragma once

#include "options/options.h"

// Runs the finding's scenario against the subjects that show it, or with --control against those
// that do not. Returns the exit code: 1 when it was seen, 0 when not, 2 when no run was conclusive,
// 77 when a subject cannot be installed.
int finding_run(const struct options *o, const char *id);
