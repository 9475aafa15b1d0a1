#include "tune/precision.h"

#include <math.h>
#include <stdlib.h>

#include "measure/stats.h"

// So few, and so far apart, that the level each of them costs stays bearable.
static const size_t looks[] = {3, 5, 8, 13, 20, 32, 50, 80};

#define LOOKS (sizeof looks / sizeof *looks)

size_t precision_look(size_t count)
{
    size_t look = 0;

    for (size_t i = 0; i < LOOKS && looks[i] <= count; i++)
        look = looks[i];
    return look;
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
        double reach = stats_student(n - 1, PRECISION_ALPHA / (LOOKS + 1)) * sqrt(squares / (double)(n - 1) / (double)n);
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
