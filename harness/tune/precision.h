// How precisely a few runs determine a figure. Uses Student's interval of the logarithms, because a
// busy machine multiplies a figure rather than adds to it. Pure.
//
// The figures of the runs decide whether more runs follow. If an ordinary interval were checked
// again and again until it is narrow enough, it would be too narrow. So the interval is checked
// only after certain numbers of runs, and it is wide enough that all checks together, and the final
// one, hold the truth with 95%.
#pragma once

#include <stddef.h>

#include "base/buf.h"

#define PRECISION_ALPHA 0.05 // probability that any of the checks misses the truth
#define PRECISION_LOOKS 8    // number of checks before the final one
#define PRECISION_DEGREES 99 // with more degrees of freedom, the interval is a little too wide

struct precision {
    double median;    // NAN without a value
    double low, high; // with 95% confidence the typical value is between these, whenever the runs
                      // were stopped; 0 and infinity for fewer than two values
    size_t count;     // the values that were positive and finite
};

// Returns the precision. Ignores NAN, and values that are not positive.
struct precision precision_of(const double *values, size_t count);

// Returns how many of `count` values may be checked to decide about further runs; 0: none yet.
size_t precision_look(size_t count);

// Returns half the interval's width as a share of its middle: 0.1 means ± 10%. Infinity when the
// interval is unknown.
double precision_share(const struct precision *p);

// Writes the share as "± 10%", and "not known yet" above 100%. Writes `none` for fewer than three
// values.
void precision_print(const struct precision *p, const char *none, struct buf *out);

// Returns the two-sided quantile of Student's t for one check's share of PRECISION_ALPHA. INFINITY
// for 0 degrees of freedom.
double precision_quantile(size_t degrees);
