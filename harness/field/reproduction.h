// mailproof field --finding ID: repeats a finding with several seeds.
#pragma once

#include <jansson.h>

#include "field/finding.h"
#include "options/options.h"
#include "run/runner.h"

// Whether a run shows the defect of a finding. SHOWN_DOUBT: the run cannot tell.
enum shown { SHOWN_NOTHING, SHOWN_FINDING, SHOWN_DOUBT };

// Returns whether a run shows the finding: one of its `breaks` is above zero in `figures` (the
// metrics of result.json), and a log in the run's folder holds the words of `says`. Writes "seen,
// METRIC N" to text, for the first such metric that the run does not doubt, or else for the last
// one. If there is none, text stays as it is.
enum shown finding_shown(const struct field_finding *f, const struct run_outcome *outcome,
    const json_t *figures, char *text, size_t size);

// Runs the finding's scenario with several seeds against the subjects that show it, or with
// --control against those that do not. *code becomes 1 when the defect was seen, 0 when not, 2 when
// no run was conclusive. False with ERR_SKIP when a subject cannot be installed.
MUST_USE bool finding_reproduce(const struct options *o, const char *id, int *code, struct err *e);
