// mailproof field --finding ID: repeats a finding with several seeds.
#pragma once

#include <jansson.h>

#include "field/finding.h"
#include "options/options.h"
#include "run/runner.h"

// What a run shows of a finding. SHOWN_DOUBT: the run cannot tell.
enum shown { SHOWN_NOTHING, SHOWN_FINDING, SHOWN_DOUBT };

// Returns what a run shows, by the first metric of the finding's `breaks` that is above zero in
// `figures` (metrics of result.json), and writes "seen, METRIC N" to text. The finding's words are
// looked for in the logs of the run's folder.
enum shown finding_shown(const struct field_finding *f, const struct run_outcome *outcome,
    const json_t *figures, char *text, size_t size);

// Runs the finding's scenario against the subjects that show it, or with --control against those
// that do not. *code becomes 1 when it was seen, 0 when not, 2 when no run was conclusive. ERR_SKIP
// when a subject cannot be installed.
MUST_USE bool finding_reproduce(const struct options *o, const char *id, int *code, struct err *e);
