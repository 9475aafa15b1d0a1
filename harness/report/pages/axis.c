#include "report/pages/axis.h"

#include <math.h>

// What stays free at each end, as a share of the width that the values need.
static const double margin = 0.08;

// The least ratio between the ends of a logarithmic axis, and the least width of a linear one as a
// share of its values, so that nearly equal values are not drawn far apart.
static const double least_ratio = 1.5, least_share = 0.1;

struct axis axis_of(double from, double to, bool logarithmic)
{
    return (struct axis){INFINITY, -INFINITY, from, to, logarithmic};
}

void axis_widen(struct axis *a, double value)
{
    if (!isfinite(value) || (a->logarithmic && value <= 0))
        return;
    a->low = fmin(a->low, value);
    a->high = fmax(a->high, value);
}

bool axis_finish(struct axis *a)
{
    if (a->low > a->high)
        return false;
    if (a->logarithmic) {
        double ratio = fmax(a->high / a->low, least_ratio), room = pow(ratio, margin);
        // The product of the two values could overflow, that of their roots cannot.
        double middle = sqrt(a->low) * sqrt(a->high);
        a->low = middle / sqrt(ratio) / room;
        a->high = middle * sqrt(ratio) * room;
        return isnormal(a->low) && isfinite(a->high);
    }
    double width = fmax(a->high - a->low, least_share * fmax(fabs(a->high), fabs(a->low)));
    double middle = (a->low + a->high) / 2;
    a->low = middle - width * (0.5 + margin);
    a->high = middle + width * (0.5 + margin);
    return isnormal(width) && isfinite(a->high); // the width is 0 if all values are 0
}

double axis_place(const struct axis *a, double value)
{
    double share = a->logarithmic ? log(value / a->low) / log(a->high / a->low)
                                  : (value - a->low) / (a->high - a->low);

    return a->from + share * (a->to - a->from);
}

// Writes the ticks: on a long axis the powers of ten, on a shorter one also 2 and 5 times them, and
// on a short one also the other values of `fine`. Returns how many there are.
static size_t logarithmic_ticks(const struct axis *a, double ticks[AXIS_TICKS_MAX])
{
    static const double coarse[] = {1, 2, 5}, fine[] = {1, 1.2, 1.5, 2, 2.5, 3, 4, 5, 6, 8};
    double ratio = a->high / a->low;
    bool is_short = ratio < 15;
    bool is_long = ratio > 1e4;
    const double *steps = is_short ? fine : coarse;
    size_t steps_count = is_long    ? 1
                         : is_short ? sizeof fine / sizeof *fine
                                    : sizeof coarse / sizeof *coarse;
    int lowest = (int)floor(log10(a->low)), highest = (int)floor(log10(a->high));
    size_t count = 0;

    for (int exponent = lowest; exponent <= highest; exponent++) {
        double power = pow(10, exponent);
        for (size_t i = 0; i < steps_count && count < AXIS_TICKS_MAX; i++) {
            if (steps[i] * power >= a->low && steps[i] * power <= a->high)
                ticks[count++] = steps[i] * power;
        }
    }
    return count;
}

// Writes the multiples of a step as ticks. The step is 1, 2 or 5 times a power of ten, and a fifth
// to a half of the width. Returns how many there are.
static size_t linear_ticks(const struct axis *a, double ticks[AXIS_TICKS_MAX])
{
    double fifth = (a->high - a->low) / 5, power = pow(10, floor(log10(fifth)));
    double rough = fifth / power;
    double step = power * (rough <= 1 ? 1 : rough <= 2 ? 2 : rough <= 5 ? 5 : 10);
    size_t count = 0;

    double first = ceil(a->low / step);
    while (count < AXIS_TICKS_MAX && (first + (double)count) * step <= a->high) {
        ticks[count] = (first + (double)count) * step;
        count++;
    }
    return count;
}

size_t axis_ticks(const struct axis *a, double ticks[AXIS_TICKS_MAX])
{
    return a->logarithmic ? logarithmic_ticks(a, ticks) : linear_ticks(a, ticks);
}
