// Tells whether one set of runs is slower than another, and by how much. The methods assume no
// normal distribution, because the figures of a busy machine do not follow one.
//
// The test is Mann and Whitney's (1947); the ratio and its interval are Hodges and Lehmann's
// (1963), who estimate a shift. Here it is a shift of logarithms, so the estimate is the median of
// all b/a. Without ties, test and interval come from the same distribution of ranks, so they do not
// contradict each other. Ties sharpen the test, and not the interval.
#pragma once

#include "base/base.h"

#define STATS_VALUES_MAX 1000 // greatest number of values on each side

struct stats_ratio {
    double estimate;  // the ratio of b to a
    double low, high; // with confidence 1 - alpha the true ratio lies between these; 0 and infinity
                      // when there are too few values for an interval
    double p;         // probability that chance alone gives a difference like this, two-sided
};

// Compares the values of b with those of a, and fills in *r.
//
// No value may be negative; one below 1e-9 counts as 1e-9, so that every ratio exists. INFINITY is
// larger than every other value, and may make the estimate and the interval infinite. The test is
// exact when both sides together have up to 50 values. Otherwise it uses the normal approximation,
// corrected for ties and continuity. ERR_USAGE when a side is empty or too large.
MUST_USE bool stats_compare(struct stats_ratio *r, const double *a, size_t a_count, const double *b,
    size_t b_count, double alpha, struct err *e);

// Returns the exact p of two sides that do not overlap at all, which without ties is the smallest.
// If it is above alpha, there are too few runs to find any difference, however large it is.
double stats_smallest_p(size_t a_count, size_t b_count);

// Makes Fisher's exact test, one-sided. Returns the probability that b has at least `b_hits` of all
// hits by chance alone.
double stats_hits_p(size_t a_hits, size_t a_count, size_t b_hits, size_t b_count);

// Sorts the values.
void stats_sort(double *values, size_t count);

// Sorts the values and returns their median; NAN without values.
double stats_median(double *values, size_t count);

// Returns the two-sided quantile of Student's t: the value that |t| exceeds with probability alpha.
// INFINITY without a degree of freedom.
double stats_student(size_t degrees, double alpha);

// Returns Clopper and Pearson's (1934) exact bounds of a rate, when `hits` of `count` trials were
// hits. The probability that the true rate is below the low bound is alpha at most, and so is the
// probability that it is above the high bound.
double stats_rate_low(size_t hits, size_t count, double alpha);
double stats_rate_high(size_t hits, size_t count, double alpha);

// --- slope.c -----------------------------------------------------------------------
//
// Tells whether a figure grows with time, and how fast. Uses Theil's estimator with Sen's interval
// (1968): the median of the slopes between all pairs of points, which a few outliers do not move,
// and an interval from Kendall's test of the same pairs.

#define SLOPE_POINTS_MAX 1000
#define SLOPE_POINTS_MIN 8 // fewer points give no useful interval

struct slope {
    double estimate;  // median slope: growth of y per unit of x
    double low, high; // with a confidence of 95% the true slope lies between these
    double level;     // median of y
};

// Estimates the slope of points, of which no two have the same x. The interval is right only for
// independent points: pass medians of windows and not each second's sample. The number of points
// lies between the two bounds above.
void theil_sen(struct slope *s, const double *x, const double *y, size_t count);
