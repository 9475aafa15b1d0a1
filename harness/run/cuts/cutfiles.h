// Writes the files of --every-cut and --every-kill: the files of any run, with the sums over all
// trials, and cuts.csv with a row for each trial.
#pragma once

#include <jansson.h>

#include "report/report.h"
#include "run/cuts/cutreport.h"

// Writes all files of the result folder, from the trials, their counts `n` and their verdict.
MUST_USE bool cutfiles_write(const struct cutreport *c, const struct report_cuts *n,
    const struct cutverdict *v, struct err *e);

// Appends a <testsuite>: one case for each kind of message, one for failures without any cut, and
// one that says whether enough trials reached their cut.
MUST_USE bool cutfiles_suite(const struct cutreport *c, const struct report_cuts *n,
    const struct cutverdict *v, struct buf *out, struct err *e);

// Appends the whole command that repeats these trials. `only` restricts them to one kind of
// message, such as "client Bind"; NULL: the command as it was given.
void cutfiles_repeat(const struct cutreport *c, const char *only, struct buf *out);

// Returns the data that html/cuts.js draws: the messages of the trial without any cut in their
// order, each with the trials before and after it, the table of kinds, and the pairs. NULL without
// memory.
json_t *cutstrip_json(const struct cutreport *c);
