// How well a few runs know a figure: Student's interval, taken of logarithms,
// because a busy machine makes a figure so many times larger, not so much. Pure.
//
// Whether to run on hangs on what the runs have shown, and an interval that is
// looked at again and again until it pleases is too narrow. Hence the data is looked
// at only after certain numbers of runs, and each interval is as wide as it takes for
// all looks together, and the one at the end, to hold the truth with 95%.
#pragma once

#include <stddef.h>

#define PRECISION_ALPHA 0.05 // of all looks together
#define PRECISION_LOOKS 8    // and one at the end
#define PRECISION_DEGREES 99 // with more, the interval is a little too wide

struct precision {
    double median;    // NAN of none
    double low, high; // hold the typical value with 95% confidence, whenever the runs
                      // were stopped; 0 and infinity when fewer than two values say nothing
};

// Values are positive; those that are not count as none.
struct precision precision_of(const double *values, size_t count);

// How many of `count` values may be looked at to decide whether to run on; 0: none yet.
size_t precision_look(size_t count);

// How far the interval reaches from its middle, as a share: 0.1 is ± 10%.
// Infinity when it is not known.
double precision_share(const struct precision *p);

// Student's two-sided quantile of one look's share of PRECISION_ALPHA. INFINITY for 0
// degrees of freedom.
double precision_quantile(size_t degrees);
