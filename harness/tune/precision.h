// How precisely a few runs determine a figure: Student's interval of the logarithms, because a busy
// machine multiplies a figure rather than adding to it. Pure.
//
// The runs themselves decide whether more runs follow. An interval that is checked again and
// again until it is narrow enough would be too narrow. So the data is checked only after
// certain numbers of runs, and each interval is wide enough that all checks together, and the
// final one, hold the truth with 95%.
#pragma once

#include <stddef.h>

#define PRECISION_ALPHA 0.05 // of all looks together
#define PRECISION_LOOKS 8    // checks before the final one
#define PRECISION_DEGREES 99 // with more values than this, the interval is a little too wide

struct precision {
    double median;    // NAN without a value
    double low, high; // hold the typical value with 95% confidence, whenever the runs
                      // were stopped; 0 and infinity for fewer than two values
};

// Ignores values that are not positive, and NAN.
struct precision precision_of(const double *values, size_t count);

// Returns how many of `count` values may be checked to decide about further runs; 0: none yet.
size_t precision_look(size_t count);

// Returns half the interval's width as a share of its middle: 0.1 is ± 10%. Infinity when
// unknown.
double precision_share(const struct precision *p);

// Returns Student's two-sided quantile of one look's share of PRECISION_ALPHA. INFINITY for 0
// degrees of freedom.
double precision_quantile(size_t degrees);
