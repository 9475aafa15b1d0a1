// Tells whether a figure grows with time, and how fast. Uses Theil's estimator with Sen's interval
// (1968): the median of the slopes between all pairs of points, which a few outliers do not move,
// and an interval from Kendall's test of the same pairs.
#pragma once

#include "base/base.h"

#define SLOPE_POINTS_MAX 1000
#define SLOPE_POINTS_MIN 8 // fewer points give no useful interval

struct slope {
    double estimate;  // median slope: growth of y per unit of x
    double low, high; // with a confidence of 95% the true slope lies between these
    double level;     // median of y
};

// Estimates the slope of points, of which no two have the same x. The interval is right only for
// independent points: pass medians of windows and not each second's sample. ERR_USAGE when there
// are too few points or too many.
MUST_USE bool theil_sen(
    struct slope *s, const double *x, const double *y, size_t count, struct err *e);
