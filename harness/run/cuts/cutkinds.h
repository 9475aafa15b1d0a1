// Groups the trials of --every-cut by the kind of message at which they cut. Each kind is a row of
// the table. Pure.
#pragma once

#include "run/cuts/cutreport.h"

struct cutkind {
    const char *sender, *message; // such as "client", "Bind"; for pairs "pairs", "of messages"
    size_t tried, reached, broken, unjudged;
    double sums[METRIC_COUNT]; // per invariant: the number of cases in the trials that broke it
};

// Sums up in *k the kind of the trial at index *i, and moves *i past the kind's last trial. The
// trials are sorted by kind, and all pairs are one kind. Returns false when *i is at the end.
bool cutkinds_next(const struct cutreport *c, size_t *i, struct cutkind *k);

// Room for a text such as "late 8, early 10".
#define CUTKINDS_TEXT 320

// Lists the invariants with cases, such as "late 8, early 10", except lost, duplicated and
// unplanned_exit, which have columns of their own. "0": there are none.
const char *cutkinds_others(const double sums[METRIC_COUNT], char text[CUTKINDS_TEXT]);

// Lists the invariants that a trial broke, with the number of cases; "": it broke none.
const char *cutkinds_broken(const struct trial_result *r, char text[CUTKINDS_TEXT]);

// Returns an example of an invariant that the trial broke, or "".
const char *cutkinds_example(const struct trial_result *r);

// True when all cuts of the i-th trial were made.
bool cutkinds_reached(const struct cutreport *c, size_t i);

// True when the i-th trial proves nothing: it broke no invariant, and is inconclusive or did not
// make all of its cuts.
bool cutkinds_unjudged(const struct cutreport *c, size_t i);
