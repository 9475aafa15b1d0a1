#include <math.h>

#include "base/unit.h"
#include "measure/stats.h"

static void assert_near(double got, double want, double within)
{
    if (!(fabs(got - want) <= within))
        fail_msg("%g is not %g within %g", got, want, within);
}

static void a_line_has_its_slope(void **state)
{
    double x[20], y[20];
    struct slope s;

    for (int i = 0; i < 20; i++) {
        x[i] = i;
        y[i] = 5 + 3 * i;
    }
    theil_sen(&s, x, y, 20);
    assert_near(s.estimate, 3, 1e-9);
    assert_near(s.low, 3, 1e-9);
    assert_near(s.high, 3, 1e-9);
    assert_near(s.level, 5 + 3 * 9.5, 1e-9);
}

// Ten points have 45 slopes, one for each pair. Calculated by hand, the interval reaches from the
// 11th smallest slope to the 35th.
static void the_interval_comes_from_the_ranks_of_slopes(void **state)
{
    const double x[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10};
    const double y[] = {9, 15, 19, 20, 45, 55, 78, 79, 70, 95};
    double slopes[45];
    size_t n = 0;
    struct slope s;

    for (int i = 0; i < 10; i++)
        for (int j = i + 1; j < 10; j++)
            slopes[n++] = (y[j] - y[i]) / (x[j] - x[i]);
    theil_sen(&s, x, y, 10);
    // Kendall's statistic has the variance 10 * 9 * 25 / 18 = 125, so with a probability of
    // 95% it lies within ± 1.96 * sqrt(125) = 21.9. Counted from zero, the bounds are the slopes at
    // floor((45 - 21.9) / 2) - 1 = 10 and ceil((45 + 21.9) / 2) = 34.
    size_t below_low = 0, below_high = 0;
    for (size_t i = 0; i < n; i++) {
        below_low += slopes[i] < s.low;
        below_high += slopes[i] < s.high;
    }
    assert_int_equal(below_low, 10);
    assert_int_equal(below_high, 34);
    assert_true(s.low < s.estimate && s.estimate < s.high && s.low > 0);
}

static void noise_has_no_slope(void **state)
{
    double x[60], y[60];
    unsigned random = 1;
    struct slope s;

    for (int i = 0; i < 60; i++) {
        random = random * 1103515245 + 12345;
        x[i] = i;
        y[i] = (double)(random >> 16 & 0x7fff);
    }
    y[30] = 1e12; // one outlier does not move the median slope
    theil_sen(&s, x, y, 60);
    assert_true(s.low < 0 && s.high > 0);
}

static void a_constant_is_flat(void **state)
{
    double x[30], y[30];
    struct slope s;

    for (int i = 0; i < 30; i++) {
        x[i] = i;
        y[i] = 7;
    }
    theil_sen(&s, x, y, 30);
    assert_near(s.low, 0, 0);
    assert_near(s.high, 0, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_line_has_its_slope),
        cmocka_unit_test(the_interval_comes_from_the_ranks_of_slopes),
        cmocka_unit_test(noise_has_no_slope),
        cmocka_unit_test(a_constant_is_flat),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
