#include "tune/precision.h"

#include <math.h>
#include <stdlib.h>

double precision_student(size_t degrees)
{
    static const double first[] = {INFINITY, 12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365,
        2.306, 2.262, 2.228, 2.201, 2.179, 2.160, 2.145, 2.131, 2.120, 2.110, 2.101, 2.093, 2.086,
        2.080, 2.074, 2.069, 2.064, 2.060, 2.056, 2.052, 2.048, 2.045, 2.042};
    const size_t known = sizeof first / sizeof *first;

    // The first term of the series in 1/degrees is exact to 0.002 from here on.
    return degrees < known ? first[degrees] : 1.95996 + 2.3722 / (double)degrees;
}

static int by_size(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

struct precision precision_of(const double *values, size_t count)
{
    struct precision p = {.median = NAN, .low = 0, .high = INFINITY};
    double *logs = calloc(count + 1, sizeof *logs), sum = 0, squares = 0;
    size_t n = 0;

    for (size_t i = 0; logs && i < count; i++) {
        if (values[i] > 0 && isfinite(values[i]))
            logs[n++] = log(values[i]);
    }
    if (n > 0) {
        qsort(logs, n, sizeof *logs, by_size);
        p.median = exp((logs[(n - 1) / 2] + logs[n / 2]) / 2);
    }
    for (size_t i = 0; i < n; i++)
        sum += logs[i];
    for (size_t i = 0; n > 1 && i < n; i++)
        squares += (logs[i] - sum / (double)n) * (logs[i] - sum / (double)n);
    if (n > 1) {
        double middle = sum / (double)n;
        double reach = precision_student(n - 1) * sqrt(squares / (double)(n - 1) / (double)n);
        p.low = exp(middle - reach);
        p.high = exp(middle + reach);
    }
    free(logs);
    return p;
}

double precision_share(const struct precision *p)
{
    return p->low > 0 ? sqrt(p->high / p->low) - 1 : INFINITY;
}
