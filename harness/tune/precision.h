// Computes how precisely a few runs determine a figure: Student's confidence interval of the
// logarithms, because a busy machine multiplies a figure rather than adds to it. Pure.
//
// More runs follow until the interval is narrow enough. An ordinary 95% interval that is checked
// again and again would miss the true value more often than in 5% of the cases. So the interval is
// checked only after certain numbers of runs, and it is so wide that, with 95% probability, it
// holds the true value at all these checks and at the final one.
#pragma once

#include "base/base.h"

#define PRECISION_ALPHA 0.05 // probability that the interval misses the true value at any check
#define PRECISION_CHECKS 8   // number of checks before the final one
// Largest number of degrees of freedom in the table; with more, the interval is a little too wide.
#define PRECISION_DEGREES 99

struct precision {
    double median;    // NAN when there is no value
    double low, high; // the typical value is between these with 95% confidence, at whichever check
                      // the runs were stopped; 0 and infinity for fewer than two values
    size_t count;     // number of values that were positive and finite
};

// Returns the precision of these values. Ignores values that are not positive and finite.
struct precision precision_of(const double *values, size_t count);

// Returns how many values there were at the latest check, when there are `count` now. Only these
// first values may decide about further runs; the later ones wait for the next check. 0: too few
// for any check.
size_t precision_checked(size_t count);

// Returns by what share of its geometric middle the interval reaches upwards: 0.1 means ± 10%.
// Infinity when the interval is not known.
double precision_share(const struct precision *p);

// Appends the share as "± 10%", or "not known yet" if it is above 100%; `none` for fewer than three
// values.
void precision_print(const struct precision *p, const char *none, struct buf *out);

// Returns the two-sided quantile of Student's t that belongs to one check's share of
// PRECISION_ALPHA. INFINITY for 0 degrees of freedom.
double precision_quantile(size_t degrees);
