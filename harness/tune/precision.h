// How well a few runs know a figure: Student's interval, taken of logarithms,
// because a busy machine makes a figure so many times larger, not so much. Pure.
#pragma once

#include <stddef.h>

struct precision {
    double median;    // NAN of none
    double low, high; // hold the typical value with 95% confidence; 0 and
                      // infinity when fewer than two values say nothing
};

// Values are positive; those that are not count as none.
struct precision precision_of(const double *values, size_t count);

// How far the interval reaches from its middle, as a share: 0.1 is ± 10%.
// Infinity when it is not known.
double precision_share(const struct precision *p);

// Two-sided 95% quantile of Student's distribution; infinity for 0.
double precision_student(size_t degrees);
