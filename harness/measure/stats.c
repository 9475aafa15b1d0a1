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

// Returns b / a. Two infinite values have the ratio 1, and a value below TINY counts as TINY.
static double pair_ratio(double a, double b)
{
    if (isinf(a) && isinf(b))
        return 1;
    return fmax(b, TINY) / fmax(a, TINY);
}

// The sizes of the groups of equal values, both sides together, in ascending order of the values.
struct ties {
    size_t sizes[2 * STATS_VALUES_MAX];
    size_t count;
};

static void find_ties(struct ties *t, const double *a, size_t n, const double *b, size_t m)
{
    double pool[2 * STATS_VALUES_MAX];

    for (size_t i = 0; i < n; i++)
        pool[i] = fmax(a[i], TINY);
    for (size_t j = 0; j < m; j++)
        pool[n + j] = fmax(b[j], TINY);
    stats_sort(pool, n + m);
    t->count = 0;
    for (size_t i = 0; i < n + m; i++) {
        if (i == 0 || pool[i - 1] < pool[i])
            t->sizes[t->count++] = 0;
        t->sizes[t->count - 1]++;
    }
}

// Returns the probability of each U (see count_wins) when both sides, of n and m values, have the
// same distribution: element h, up to 2nm, is that of U = h / 2. It deals the values to the sides
// in all ways, one group of equal values after another. n + m is at most EXACT_MAX. The caller
// frees the result.
static double *exact_chances(const struct ties *t, size_t n, size_t m)
{
    size_t row = 2 * n * m + 1, dealt = 0;
    // ways[j * row + h]: in how many ways b has j of the values dealt so far, and U is h / 2.
    double *ways = memory_zeroed((m + 1) * row, sizeof *ways);
    double all = 0;

    ways[0] = 1;
    for (size_t g = 0; g < t->count; dealt += t->sizes[g++]) {
        // From the top: a row is added to rows above it, before this group changes the row itself.
        for (size_t j = (dealt < m ? dealt : m) + 1; j-- > 0;) {
            double choices = 1;
            for (size_t k = 1; k <= t->sizes[g] && j + k <= m; k++) {
                size_t rest = t->sizes[g] - k; // if b has k of the group, a has the rest
                size_t gained = 2 * k * (dealt - j) + k * rest;
                choices = choices * (double)(rest + 1) / (double)k;
                for (size_t h = 0; h + gained < row; h++)
                    ways[(j + k) * row + h + gained] += choices * ways[j * row + h];
            }
        }
    }
    memmove(ways, ways + m * row, row * sizeof *ways);
    for (size_t h = 0; h < row; h++)
        all += ways[h];
    for (size_t h = 0; h < row; h++)
        ways[h] /= all;
    return ways;
}

static double normal_below(double z)
{
    return erfc(-z / sqrt(2)) / 2;
}

// Returns Mann and Whitney's U: the number of pairs in which b is larger, where a pair of equal
// values counts as half. Also writes the ratio of each pair to `ratios`.
static double count_wins(const double *a, size_t n, const double *b, size_t m, double *ratios)
{
    double u = 0;

    for (size_t i = 0; i < n; i++) {
        for (size_t j = 0; j < m; j++) {
            double ratio = pair_ratio(a[i], b[j]);
            ratios[i * m + j] = ratio;
            // Only a ratio of 1 is neither smaller nor larger than 1: pair_ratio never returns NAN.
            bool equal = !(ratio < 1) && !(ratio > 1);
            u += equal ? 0.5 : ratio > 1;
        }
    }
    return u;
}

// Returns the sum of t^3 - t over the sizes t of the groups of equal values.
static double tie_term(const struct ties *t)
{
    double term = 0;

    for (size_t g = 0; g < t->count; g++)
        term += pow((double)t->sizes[g], 3) - (double)t->sizes[g];
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
// either side.
static double two_sided_p(double u, const double *a, size_t n, const double *b, size_t m)
{
    double mean = (double)n * (double)m / 2, far = fabs(u - mean);
    struct ties ties;

    find_ties(&ties, a, n, b, m);
    if (n + m <= EXACT_MAX) {
        double *chances FREED_BY(memory_free) = exact_chances(&ties, n, m), p = 0;
        for (size_t h = 0; h <= 2 * n * m; h++) {
            if (fabs((double)h / 2 - mean) >= far)
                p += chances[h];
        }
        return fmin(1, p);
    }
    double sigma = rank_sum_deviation((double)n, (double)m, tie_term(&ties));
    // The deviation is 0 only when all values are equal.
    if (!(sigma > 0))
        return 1;
    // Without ties U takes only whole numbers; the 0.5 corrects for this (continuity).
    return fmin(1, 2 * normal_below((0.5 - far) / sigma));
}

// Returns how many of the sorted ratios lie below the interval; as many lie above it. This is the
// largest u for which P(U <= u) is at most alpha / 2 without ties. SIZE_MAX: not even u = 0 is so
// rare, because there are too few values.
static size_t ratios_outside(size_t n, size_t m, double alpha)
{
    double u = -1;

    if (n + m <= EXACT_MAX) {
        struct ties none = {.count = n + m};
        for (size_t i = 0; i < n + m; i++)
            none.sizes[i] = 1;
        double *chances FREED_BY(memory_free) = exact_chances(&none, n, m);
        double below = chances[0];
        while (below <= alpha / 2) {
            u++;
            below += chances[2 * ((size_t)u + 1)]; // without ties U is whole
        }
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
    if (n == 0 || m == 0 || n > STATS_VALUES_MAX || m > STATS_VALUES_MAX)
        return err_set(
            e, ERR_USAGE, "a side needs 1 to %d runs, not %zu and %zu", STATS_VALUES_MAX, n, m);
    double *ratios FREED_BY(memory_free) = memory_allocate(n * m * sizeof *ratios);
    double wins = count_wins(a, n, b, m, ratios);
    r->p = two_sided_p(wins, a, n, b, m);
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
