// Counts values in a histogram with HdrHistogram's index layout: three significant digits over 0 …
// highest, so that a percentile is exact to 0.1% and nothing is clipped.
//
// Values are int64_t nanoseconds by convention; negative ones count as 0. A value above `highest`
// makes the array grow. Only one thread may write a histogram; several threads write one each,
// which are merged after the threads have ended. histogram_fini accepts a zeroed struct.
#pragma once

#include "base/base.h"

// The number of buckets in an octave. From the third octave on, buckets are twice as wide as in the
// octave before.
#define HISTOGRAM_OCTAVE 1024
// The number of buckets for all values from 0 to INT64_MAX: no histogram is longer.
#define HISTOGRAM_MAX_LEN ((size_t)54 * HISTOGRAM_OCTAVE)

struct histogram {
    int64_t *counts;
    size_t count_len; // number of allocated buckets: whole octaves, at least two
    int64_t total;
    int64_t min, max; // exact values, not the bounds of buckets; 0 while empty
    double sum;       // sum of the exact values, for the mean
};

void histogram_init(struct histogram *h, int64_t highest);
void histogram_fini(struct histogram *h);
void histogram_clear(struct histogram *h);

void histogram_record(struct histogram *h, int64_t value);
void histogram_merge(struct histogram *into, const struct histogram *from);

// Finds the smallest value such that at least `percentile` (0 to 100) of all values are not larger,
// and returns the highest value of its bucket, as HdrHistogram does, but never more than the exact
// max. Returns the exact min for 0, and 0 while empty.
int64_t histogram_percentile(const struct histogram *h, double percentile);
// Both return 0 while empty. The mean is exact; the deviation is that of the buckets' middles
// around their own mean, so that equal values deviate by 0.
double histogram_mean(const struct histogram *h);
double histogram_stddev(const struct histogram *h);

// The index of a value's bucket, and the lowest, highest and middle value of the bucket at an
// index. hlog.c and hgrm.c use this layout for their files.
size_t histogram_index(int64_t value);
int64_t histogram_lowest_at(size_t index);
int64_t histogram_highest_at(size_t index);
int64_t histogram_middle_at(size_t index);
