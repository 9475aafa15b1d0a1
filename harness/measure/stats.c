#include "measure/stats.h"

#include <math.h>

// Up to this many values on both sides together, a double holds the binomial coefficients without
// loss.
#define EXACT_MAX 50
#define TINY 1e-9

static int compare_doubles(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

void stats_sort(double *values, size_t count)
{
    qsort(values, count, sizeof *values, compare_doubles);
}

double stats_median(double *values, size_t count)
{
    if (count == 0)
        return NAN;
    stats_sort(values, count);
    return (values[(count - 1) / 2] + values[count / 2]) / 2;
}

// Returns b / a. Two infinite values have the ratio 1, and a zero counts as TINY.
static double pair_ratio(double a, double b)
{
    if (isinf(a) && isinf(b))
        return 1;
    return fmax(b, TINY) / fmax(a, TINY);
}

// Counts, for each u, the orders of n and m values in which U (see count_wins) is u. The counts are
// the coefficients of the Gaussian binomial, the product of (1 - q^(m+i)) / (1 - q^i), i = 1 … n.
static void count_arrangements(double *counts, size_t n, size_t m)
{
    size_t top = n * m;

    counts[0] = 1;
    for (size_t u = 1; u <= top; u++)
        counts[u] = 0;
    for (size_t i = 1; i <= n; i++) {
        for (size_t u = top; u >= m + i; u--)
            counts[u] -= counts[u - m - i];
        for (size_t u = i; u <= top; u++)
            counts[u] += counts[u - i];
    }
}

// Returns P(U <= u) (see count_wins) when both sides, of n and m values, have the same
// distribution. n + m is at most EXACT_MAX, so n * m is at most a quarter of its square.
static double exact_below(double u, size_t n, size_t m)
{
    double counts[EXACT_MAX / 2 * EXACT_MAX / 2 + 1] = {0};
    double all = 0, below = 0;

    count_arrangements(counts, n, m);
    for (size_t i = 0; i <= n * m; i++) {
        all += counts[i];
        if ((double)i <= u)
            below += counts[i];
    }
    return below / all;
}

static double normal_below(double z)
{
    return erfc(-z / sqrt(2)) / 2;
}

// Returns Mann and Whitney's U: the number of pairs in which b is larger, where a pair of equal
// values counts as half. Also writes the ratio of each pair to `ratios`, and to *tied whether any
// pair is equal.
static double count_wins(
    const double *a, size_t n, const double *b, size_t m, double *ratios, bool *tied)
{
    double u = 0;

    *tied = false;
    for (size_t i = 0; i < n; i++) {
        for (size_t j = 0; j < m; j++) {
            double ratio = pair_ratio(a[i], b[j]);
            ratios[i * m + j] = ratio;
            // Only a ratio of 1 is neither smaller nor larger than 1: pair_ratio never returns NAN.
            bool equal = !(ratio < 1) && !(ratio > 1);
            *tied = *tied || equal;
            u += equal ? 0.5 : ratio > 1;
        }
    }
    return u;
}

// Returns the sum of t^3 - t over groups of t equal values, both sides together.
static double tie_term(const double *a, size_t n, const double *b, size_t m)
{
    double pool[2 * STATS_VALUES_MAX], term = 0;

    for (size_t i = 0; i < n; i++)
        pool[i] = a[i];
    for (size_t j = 0; j < m; j++)
        pool[n + j] = b[j];
    stats_sort(pool, n + m);
    for (size_t i = 0, group; i < n + m; i += group) {
        group = 1;
        while (i + group < n + m && !(pool[i] < pool[i + group]))
            group++;
        term += (double)group * (double)group * (double)group - (double)group;
    }
    return term;
}

// Returns the standard deviation of U for sides of n and m values; `ties` is the result of
// tie_term.
static double rank_sum_deviation(double n, double m, double ties)
{
    return sqrt(n * m / 12 * (n + m + 1 - ties / ((n + m) * (n + m - 1))));
}

// Returns the p-value of Mann and Whitney's test for the n values of `a` and the m values of `b`:
// the probability that chance alone puts U (see count_wins) at least this far from its mean, on
// either side. tied: some pair is equal.
static double two_sided_p(double u, const double *a, size_t n, const double *b, size_t m, bool tied)
{
    double mean = (double)n * (double)m / 2;
    double lower = fmin(u, 2 * mean - u);

    if (!tied && n + m <= EXACT_MAX)
        return fmin(1, 2 * exact_below(lower, n, m));
    double sigma = rank_sum_deviation((double)n, (double)m, tied ? tie_term(a, n, b, m) : 0);
    // The deviation is 0 only when all values are equal.
    if (!(sigma > 0))
        return 1;
    // Without ties U takes only whole numbers; the 0.5 corrects for this (continuity).
    return fmin(1, 2 * normal_below((lower - mean + 0.5) / sigma));
}

// Returns how many of the sorted ratios lie below the interval; as many lie above it. This is the
// largest u for which P(U <= u) is at most alpha / 2. SIZE_MAX: not even u = 0 is so rare, because
// there are too few values.
static size_t ratios_outside(size_t n, size_t m, double alpha)
{
    double u = -1;

    if (n + m <= EXACT_MAX) {
        while (exact_below(u + 1, n, m) <= alpha / 2)
            u++;
    } else {
        double mean = (double)n * (double)m / 2,
               sigma = rank_sum_deviation((double)n, (double)m, 0);
        while (normal_below((u + 1 - mean + 0.5) / sigma) <= alpha / 2)
            u++;
    }
    return u < 0 ? SIZE_MAX : (size_t)u;
}

bool stats_compare(struct stats_ratio *r, const double *a, size_t n, const double *b, size_t m,
    double alpha, struct err *e)
{
    bool tied;

    if (n == 0 || m == 0 || n > STATS_VALUES_MAX || m > STATS_VALUES_MAX)
        return err_set(
            e, ERR_USAGE, "a side needs 1 to %d runs, not %zu and %zu", STATS_VALUES_MAX, n, m);
    double *ratios FREED_BY(memory_free) = memory_allocate(n * m * sizeof *ratios);
    double wins = count_wins(a, n, b, m, ratios, &tied);
    r->p = two_sided_p(wins, a, n, b, m, tied);
    // Hodges and Lehmann: the median of all ratios, not the ratio of two medians. stats_median
    // sorts the ratios, and the ends of the interval are the ratios at two ranks.
    r->estimate = stats_median(ratios, n * m);
    size_t cut = ratios_outside(n, m, alpha);
    r->low = cut == SIZE_MAX ? 0 : ratios[cut];
    r->high = cut == SIZE_MAX ? INFINITY : ratios[n * m - 1 - cut];
    return true;
}

// Returns the logarithm of the number of ways to choose k of n; lgamma(n + 1) is that of n!.
static double log_choose(size_t n, size_t k)
{
    return lgamma((double)n + 1) - lgamma((double)k + 1) - lgamma((double)(n - k) + 1);
}

double stats_smallest_p(size_t n, size_t m)
{
    if (n == 0 || m == 0)
        return 1;
    // Two of the equally likely orders of all values keep the sides apart: A first, or B first.
    return fmin(1, 2 * exp(-log_choose(n + m, n)));
}

double stats_hits_p(size_t a_hits, size_t a_count, size_t b_hits, size_t b_count)
{
    size_t hits = a_hits + b_hits;
    double p = 0;

    // Of all ways to divide the hits between the sides, adds up those that give b at least b_hits.
    for (size_t k = b_hits; k <= hits && k <= b_count; k++) {
        if (hits - k <= a_count)
            p += exp(log_choose(a_count, hits - k) + log_choose(b_count, k) -
                     log_choose(a_count + b_count, hits));
    }
    return fmin(1, p);
}

// --- Student's t, and the beta distribution beneath it --------------------------------

// Returns the continued fraction of the incomplete beta function (Lentz's method). `tiny` takes the
// place of a denominator that is 0.
static double beta_fraction(double a, double b, double x)
{
    const double tiny = 1e-300, enough = 1e-14;
    double c = 1, d = 1 - (a + b) * x / (a + 1);

    d = 1 / (fabs(d) < tiny ? tiny : d);
    double f = d;
    for (int m = 1; m < 1000; m++) {
        double even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));
        double odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1));
        double step = 1;
        for (int i = 0; i < 2; i++) {
            double term = i == 0 ? even : odd;
            d = 1 + term * d;
            c = 1 + term / c;
            d = 1 / (fabs(d) < tiny ? tiny : d);
            c = fabs(c) < tiny ? tiny : c;
            step = d * c;
            f *= step;
        }
        if (fabs(step - 1) < enough)
            break;
    }
    return f;
}

// Returns the regularised incomplete beta function I_x(a, b).
static double beta_below(double x, double a, double b)
{
    if (x <= 0 || x >= 1)
        return x <= 0 ? 0 : 1;
    double front = exp(lgamma(a + b) - lgamma(a) - lgamma(b) + a * log(x) + b * log1p(-x));
    // The fraction converges quickly only on this side of the mean. The other side is the
    // complement, with a and b exchanged.
    if (x < (a + 1) / (a + b + 2))
        return front * beta_fraction(a, b, x) / a;
    return 1 - front * beta_fraction(b, a, 1 - x) / b;
}

// Returns the x at which beta_below is p.
static double beta_quantile(double p, double a, double b)
{
    double low = 0, high = 1;

    // A quantile near 0 needs many halvings until its relative error is small.
    for (int i = 0; i < 200 && high - low > 1e-12 * high; i++) {
        double middle = (low + high) / 2;
        if (beta_below(middle, a, b) < p)
            low = middle;
        else
            high = middle;
    }
    return (low + high) / 2;
}

double stats_student(size_t degrees, double alpha)
{
    if (degrees == 0)
        return INFINITY;
    // t² = degrees · (1/x − 1), where x follows a beta distribution.
    double x = beta_quantile(alpha, (double)degrees / 2, 0.5);
    return sqrt((double)degrees * (1 / x - 1));
}

double stats_rate_low(size_t hits, size_t count, double alpha)
{
    return hits == 0 ? 0 : beta_quantile(alpha, (double)hits, (double)(count - hits) + 1);
}

double stats_rate_high(size_t hits, size_t count, double alpha)
{
    return hits >= count ? 1 : beta_quantile(1 - alpha, (double)hits + 1, (double)(count - hits));
}
