#include <math.h>

#include "base/unit.h"
#include "measure/stats.h"

static void assert_near(double got, double want, double within)
{
    assert_true(fabs(got - want) <= within);
}

static struct stats_ratio compare(const double *a, size_t n, const double *b, size_t m)
{
    struct stats_ratio r;
    struct err e = {0};

    assert_true(stats_compare(&r, a, n, b, m, 0.05, &e));
    return r;
}

static void median_is_the_middle(void **state)
{
    double odd[] = {3, 1, 2}, even[] = {4, 1, 3, 2};

    assert_true(isnan(stats_median(odd, 0)));
    assert_near(stats_median(odd, 3), 2, 0);
    assert_near(stats_median(even, 4), 2.5, 0);
}

// The permeability of placentas, from Hollander and Wolfe (1973): U is 15. The expected p and
// interval were found by counting all 3003 arrangements.
static void exact_without_ties(void **state)
{
    const double a[] = {0.80, 0.83, 1.89, 1.04, 1.45, 1.38, 1.91, 1.64, 0.73, 1.46};
    const double b[] = {1.15, 0.88, 0.90, 0.74, 1.21};

    struct stats_ratio r = compare(a, 10, b, 5), back = compare(b, 5, a, 10);
    assert_near(r.p, 0.2544122544, 1e-9);
    assert_near(r.estimate, 0.7627380555, 1e-9);
    assert_near(r.low, 0.5103448276, 1e-9);
    assert_near(r.high, 1.1634615385, 1e-9);
    assert_near(back.p, r.p, 1e-12);
    assert_near(back.low, 1 / r.high, 1e-9);
}

// The expected values come from dealing the values to the sides in all ways.
static void exact_with_ties(void **state)
{
    const double a[] = {1, 2, 2, 3, 3, 3, 4, 5}, b[] = {2, 3, 4, 4, 5, 5, 6, 6};
    const double same[] = {7, 7, 7, 7, 7, 7};
    const double mostly_none[] = {0, 0, 0, 0, 5}, all_five[] = {5, 5, 5, 5, 5};
    const double two[] = {2, 4}, more[] = {2, 2, 3, 4, 4, 4, 5};

    assert_near(compare(a, 8, b, 8).p, 770.0 / 12870, 1e-9);
    assert_near(compare(mostly_none, 5, all_five, 5).p, 12.0 / 252, 1e-12);
    assert_near(compare(two, 2, more, 7).p, 29.0 / 36, 1e-9);
    assert_near(compare(more, 7, two, 2).p, 29.0 / 36, 1e-9);
    assert_near(compare(same, 6, same, 6).p, 1, 1e-12);
    assert_near(compare(same, 6, same, 6).estimate, 1, 0);
}

static void many_are_approximated(void **state)
{
    double a[60], b[60];

    for (int i = 0; i < 60; i++) {
        a[i] = 100 + i;
        b[i] = 100.5 + i;
    }
    struct stats_ratio r = compare(a, 60, b, 60);
    assert_true(r.p > 0.8 && r.low < 1 && r.high > 1);
    for (int i = 0; i < 60; i++)
        b[i] *= 2;
    r = compare(a, 60, b, 60);
    assert_true(r.p < 1e-15 && r.low > 1.8 && r.high < 2.2);
}

static void too_few_have_no_interval(void **state)
{
    const double a[] = {1, 2, 3}, b[] = {10, 20, 30};
    struct stats_ratio r;
    struct err e;

    r = compare(a, 3, b, 3);
    assert_near(r.p, 0.1, 1e-12);
    assert_near(r.low, 0, 0);
    assert_true(isinf(r.high));
    assert_near(stats_smallest_p(3, 3), 0.1, 1e-12);
    assert_near(stats_smallest_p(6, 6), 2.0 / 924, 1e-12);
    assert_near(stats_smallest_p(0, 6), 1, 0);
    assert_false(stats_compare(&r, a, 0, b, 3, 0.05, &e));
    assert_int_equal(e.kind, ERR_USAGE);
}

// A recovery that takes no time must not cause a division by zero.
static void zero_is_a_value(void **state)
{
    const double zero[] = {0, 0, 0, 0, 0, 0}, some[] = {1, 2, 3, 4, 5, 6};

    assert_near(compare(zero, 6, zero, 6).estimate, 1, 0);
    assert_true(compare(zero, 6, some, 6).low > 1000);
}

// Fisher's example of the lady tasting tea. Four of eight cups had the milk first, and she finds
// all four, or three of them.
static void hits_by_chance(void **state)
{
    assert_near(stats_hits_p(0, 4, 4, 4), 1.0 / 70, 1e-12);
    assert_near(stats_hits_p(1, 4, 3, 4), 17.0 / 70, 1e-12);
    assert_near(stats_hits_p(0, 10, 1, 10), 0.5, 1e-12);
    assert_near(stats_hits_p(0, 10, 0, 10), 1, 1e-12);
}

// The expected quantiles are from printed tables.
static void students_quantiles(void **state)
{
    assert_true(isinf(stats_student(0, 0.05)));
    assert_near(stats_student(1, 0.05), 12.7062, 1e-4);
    assert_near(stats_student(2, 0.05), 4.30265, 1e-5);
    assert_near(stats_student(4, 0.01), 4.60409, 1e-5);
    assert_near(stats_student(30, 0.05), 2.04227, 1e-5);
    assert_near(stats_student(120, 0.05), 1.97993, 1e-5);
    assert_near(stats_student(19, 0.001), 3.88341, 1e-5);
}

// With no hits in n trials, the exact upper bound of the rate is 1 - alpha^(1/n), about 3/n for an
// alpha of 5% (the rule of three). With hits in all trials, the lower bound is alpha^(1/n).
static void exact_bounds_of_rates(void **state)
{
    assert_near(stats_rate_high(0, 300, 0.05), 1 - pow(0.05, 1.0 / 300), 1e-9);
    assert_near(stats_rate_high(0, 300, 0.05), 0.00994, 1e-5);
    assert_near(stats_rate_low(300, 300, 0.05), pow(0.05, 1.0 / 300), 1e-9);
    assert_near(stats_rate_low(0, 10, 0.025), 0, 0);
    assert_near(stats_rate_high(10, 10, 0.025), 1, 0);
    // 5 hits of 20. The expected bounds come from the tails of the binomial distribution.
    double low = stats_rate_low(5, 20, 0.025), high = stats_rate_high(5, 20, 0.025);
    assert_near(low, 0.08657, 1e-5);
    assert_near(high, 0.49105, 1e-5);
}

// An infinite value takes the highest rank. It does not make the estimate infinite here.
static void infinity_is_the_worst(void **state)
{
    const double a[] = {1, 2, 3, 4, 5, 6}, b[] = {7, 8, 9, 10, 11, INFINITY};
    const double both[] = {1, 2, 3, 4, 5, INFINITY};

    assert_near(compare(a, 6, b, 6).p, 2.0 / 924, 1e-12);
    assert_true(isfinite(compare(a, 6, b, 6).estimate));
    assert_near(compare(both, 6, both, 6).p, 1, 1e-9);
    assert_near(compare(both, 6, both, 6).estimate, 1, 1e-9);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(median_is_the_middle),
        cmocka_unit_test(exact_without_ties),
        cmocka_unit_test(exact_with_ties),
        cmocka_unit_test(many_are_approximated),
        cmocka_unit_test(too_few_have_no_interval),
        cmocka_unit_test(zero_is_a_value),
        cmocka_unit_test(hits_by_chance),
        cmocka_unit_test(students_quantiles),
        cmocka_unit_test(exact_bounds_of_rates),
        cmocka_unit_test(infinity_is_the_worst),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
