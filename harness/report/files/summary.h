// Writes the summary.md of several runs, which a CI shows on the page of a job.
#pragma once

#include "report/suite.h"

// Writes `out`/summary.md: the counts, then the runs that did not pass, the worst first, each with
// its own summary folded below it, then one fold for what passed and one for what was skipped.
MUST_USE bool summary_write(const struct suite *s, const char *out, struct err *e);
