// Writes the summary.md of several runs, which a CI shows on the page of a job.
#pragma once

#include "report/suite.h"

// Writes `out`/summary.md: the counts; the runs that did not pass, the worst first; of a soak a row
// for each hour; a fold for each run that did not pass, with its own summary; one fold for the runs
// that passed, and one for those that were skipped.
MUST_USE bool summary_write(const struct suite *s, const char *out, struct err *e);
