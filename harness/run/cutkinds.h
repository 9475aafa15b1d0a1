// Groups the trials of --every-cut by the kind of message at which they cut. Each kind is a row of
// the table. Pure.
#pragma once

#include "run/cutreport.h"

struct cutkind {
    const char *sender, *message; // such as "client", "Bind"; for pairs "pairs", "of messages"
    size_t tried, reached, broken;
    double sums[METRIC_COUNT]; // cases of each invariant, over the trials that broke it
};

// Fills in the kind that begins at point `*i`, and moves `*i` past it: the points are sorted by
// kind, and all pairs are one kind. False at the end.
bool cutkinds_next(const struct cutreport *c, size_t *i, struct cutkind *k);

// Adds up the cases of all invariants except lost, duplicated and unplanned_exit, which have
// columns of their own.
double cutkinds_others(const double sums[METRIC_COUNT]);

// True when all cuts of a trial were made.
bool cutkinds_reached(const struct cutreport *c, size_t i);
