#include "measure/stats.h"

#include <math.h>

// Quantile of the normal distribution for a two-sided confidence of 95%.
static const double normal_95 = 1.959964;

// Returns the variance of S, the figure of Kendall's test: the number of pairs of points that rise,
// less those that fall. Groups of t equal values make the variance smaller.
static double kendall_variance(const double *sorted, size_t count)
{
    double n = (double)count, term = n * (n - 1) * (2 * n + 5);

    for (size_t i = 0, group; i < count; i += group) {
        group = 1;
        while (i + group < count && !(sorted[i] < sorted[i + group]))
            group++;
        double t = (double)group;
        term -= t * (t - 1) * (2 * t + 5);
    }
    return term / 18;
}

// Writes the slopes between all pairs of points, sorted, and returns their number.
static size_t all_pairs(double *slopes, const double *x, const double *y, size_t count)
{
    size_t n = 0;

    for (size_t i = 0; i < count; i++) {
        for (size_t j = i + 1; j < count; j++)
            slopes[n++] = (y[j] - y[i]) / (x[j] - x[i]);
    }
    stats_sort(slopes, n);
    return n;
}

// Returns the slope with the index `rank` among the sorted slopes; the first or the last one when
// the index lies beyond them.
static double rank_value(const double *slopes, size_t count, double rank)
{
    double last = (double)count - 1;

    return slopes[(size_t)fmin(fmax(rank, 0), last)];
}

void theil_sen(struct slope *s, const double *x, const double *y, size_t count)
{
    assert(count >= SLOPE_POINTS_MIN && count <= SLOPE_POINTS_MAX);
    double *slopes FREED_BY(memory_free) =
        memory_allocate(count * (count - 1) / 2 * sizeof *slopes);
    double *sorted FREED_BY(memory_free) = memory_allocate(count * sizeof *sorted);
    size_t n = all_pairs(slopes, x, y, count);
    memcpy(sorted, y, count * sizeof *sorted);
    s->level = stats_median(sorted, count); // this also sorts them
    // The interval comes from Kendall's test. Counted from 1, its ends are the slopes with the
    // ranks (n - within) / 2 and (n + within) / 2 + 1, rounded outwards; an index is one less.
    double within = normal_95 * sqrt(kendall_variance(sorted, count));
    s->estimate = (slopes[(n - 1) / 2] + slopes[n / 2]) / 2;
    s->low = rank_value(slopes, n, floor(((double)n - within) / 2) - 1);
    s->high = rank_value(slopes, n, ceil(((double)n + within) / 2));
}
