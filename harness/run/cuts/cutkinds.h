// Groups the trials of --every-cut by the kind of message at which they cut. Each kind is a row of
// the table. Pure.
#pragma once

#include "run/cuts/cutreport.h"

struct cutkind {
    const char *sender, *message; // such as "client", "Bind"; for pairs "pairs", "of messages"
    size_t tried, reached, broken, unjudged;
    double sums[METRIC_COUNT]; // cases of each invariant, over the trials that broke it
};

// Fills in the kind that begins at point `*i`, and moves `*i` past it: the points are sorted by
// kind, and all pairs are one kind. False at the end.
bool cutkinds_next(const struct cutreport *c, size_t *i, struct cutkind *k);

// Room for a text such as "late 8, early 10".
#define CUTKINDS_TEXT 320

// Names the invariants with cases except lost, duplicated and unplanned_exit, which have columns of
// their own; "0": there are none.
const char *cutkinds_others(const double sums[METRIC_COUNT], char text[CUTKINDS_TEXT]);

// Names the invariants that a trial broke, with the number of cases; "": none.
const char *cutkinds_broken(const struct trial_result *r, char text[CUTKINDS_TEXT]);

// Returns the first case of one of them, or "".
const char *cutkinds_example(const struct trial_result *r);

// True when all cuts of a trial were made.
bool cutkinds_reached(const struct cutreport *c, size_t i);

// True when a trial says nothing: not all of its cuts were made, or it is inconclusive.
bool cutkinds_unjudged(const struct cutreport *c, size_t i);
