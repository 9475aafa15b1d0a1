#include "tune/precision.h"

#include <math.h>

#include "measure/stats.h"

// The numbers of values at which the interval is checked. They are few, because all checks share
// PRECISION_ALPHA, and each further check widens the interval.
static const size_t check_counts[] = {3, 5, 8, 13, 20, 32, 50, 80};

#define CHECK_COUNTS (sizeof check_counts / sizeof *check_counts)
_Static_assert(CHECK_COUNTS == PRECISION_CHECKS, "check_counts must have PRECISION_CHECKS entries");

// Student's quantiles by degrees of freedom, as a table, because every round needs them and they
// are slow to compute. A test compares the table with stats_student.
static const double quantiles[PRECISION_DEGREES + 1] = {INFINITY, 114.589, 13.3604, 7.18487,
    5.43659, 4.6553, 4.22093, 3.94668, 3.75859, 3.62187, 3.51815, 3.43684, 3.37142, 3.31768,
    3.27274, 3.23463, 3.20189, 3.17348, 3.14858, 3.1266, 3.10703, 3.08952, 3.07374, 3.05946,
    3.04647, 3.03461, 3.02373, 3.01372, 3.00447, 2.99591, 2.98796, 2.98056, 2.97364, 2.96718,
    2.96111, 2.95542, 2.95005, 2.945, 2.94022, 2.9357, 2.93142, 2.92736, 2.9235, 2.91983, 2.91634,
    2.913, 2.90982, 2.90678, 2.90387, 2.90109, 2.89842, 2.89586, 2.8934, 2.89104, 2.88877, 2.88658,
    2.88448, 2.88245, 2.88049, 2.87861, 2.87679, 2.87503, 2.87332, 2.87168, 2.87009, 2.86854,
    2.86705, 2.8656, 2.8642, 2.86284, 2.86151, 2.86023, 2.85898, 2.85777, 2.85659, 2.85545, 2.85433,
    2.85324, 2.85219, 2.85116, 2.85016, 2.84918, 2.84822, 2.8473, 2.84639, 2.8455, 2.84464, 2.8438,
    2.84297, 2.84217, 2.84138, 2.84061, 2.83986, 2.83912, 2.8384, 2.8377, 2.83701, 2.83633, 2.83567,
    2.83503};

double precision_quantile(size_t degrees)
{
    return quantiles[degrees < PRECISION_DEGREES ? degrees : PRECISION_DEGREES];
}

size_t precision_checked(size_t count)
{
    size_t checked = 0;

    for (size_t i = 0; i < CHECK_COUNTS && check_counts[i] <= count; i++)
        checked = check_counts[i];
    return checked;
}

struct precision precision_of(const double *values, size_t count)
{
    struct precision p = {.median = NAN, .low = 0, .high = INFINITY};
    double *logs FREED_BY(memory_free) = memory_allocate(count * sizeof *logs);
    double sum = 0, squares = 0;
    size_t n = 0;

    for (size_t i = 0; i < count; i++) {
        if (values[i] > 0 && isfinite(values[i]))
            logs[n++] = log(values[i]);
    }
    p.count = n;
    p.median = exp(stats_median(logs, n));
    for (size_t i = 0; i < n; i++)
        sum += logs[i];
    if (n > 1) {
        double middle = sum / (double)n;
        for (size_t i = 0; i < n; i++)
            squares += (logs[i] - middle) * (logs[i] - middle);
        double reach = precision_quantile(n - 1) * sqrt(squares / (double)(n - 1) / (double)n);
        p.low = exp(middle - reach);
        p.high = exp(middle + reach);
    }
    return p;
}

double precision_share(const struct precision *p)
{
    return p->low > 0 ? sqrt(p->high / p->low) - 1 : INFINITY;
}

void precision_print(const struct precision *p, const char *none, struct buf *out)
{
    double share = precision_share(p);

    // The first check is at three values. For two, Student's quantile is 115, so their interval is
    // very wide even if they nearly agree.
    if (p->count < check_counts[0])
        buf_append_str(out, none);
    else if (!(share <= 1))
        buf_append_str(out, "not known yet");
    else
        buf_printf(out, "± %.0f%%", 100 * share);
}
