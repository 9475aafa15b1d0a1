// Tests how many trials may be without a verdict before the verdict on all is inconclusive, and
// what a trial without any cut does to it.
#include "base/unit.h"
#include "run/cuts/cutreport.h"

#define MOST 600

struct trials {
    struct trial_result results[MOST], uncut;
    struct points points;
    struct everycut_options how;
    struct report_cuts n;
    struct cutverdict v;
};

static struct trials t; // too large for the stack

// Makes trials that passed: at `binds` points of Bind, and at `terminates` points of Terminate.
static void set_up(unsigned binds, unsigned terminates)
{
    unsigned counts[2][256] = {0};
    struct err e;

    memset(&t, 0, sizeof t);
    counts[MESSAGE_CLIENT]['B'] = binds / 2;
    counts[MESSAGE_CLIENT]['X'] = terminates / 2;
    assert_true(points_make(&t.points, counts, NULL, &e));
    assert_true(t.points.count == binds + terminates && t.points.count <= MOST);
    for (size_t i = 0; i < t.points.count; i++)
        t.results[i].reached = 1;
}

static enum verdict judged(void)
{
    const struct cutreport c = {
        .how = &t.how, .points = &t.points, .results = t.results, .uncut = &t.uncut, .gaps = ""};

    memset(&t.v, 0, sizeof t.v);
    cutreport_judge(&c, &t.n, &t.v);
    return t.v.verdict;
}

static void test_one_message_may_not_come_again(void **state)
{
    set_up(54, 0);
    assert_int_equal(judged(), VERDICT_PASS);
    t.results[52].reached = t.results[53].reached = 0;
    assert_int_equal(judged(), VERDICT_PASS);
    assert_int_equal(t.n.reached, 52);
    t.results[51].reached = 0;
    assert_int_equal(judged(), VERDICT_INCONCLUSIVE);
    assert_non_null(strstr(t.v.reasons[0], "3 of 54 messages never came again"));
    t.results[0].verdict = VERDICT_VIOLATED;
    assert_int_equal(judged(), VERDICT_VIOLATED);
    points_fini(&t.points);
}

// Points that were not reached and trials that were inconclusive count together.
static void test_two_of_a_hundred_are_not_judged(void **state)
{
    set_up(200, 0);
    t.results[198].reached = t.results[199].reached = 0;
    t.results[10].verdict = t.results[11].verdict = VERDICT_INCONCLUSIVE;
    assert_int_equal(judged(), VERDICT_PASS);
    t.results[12].verdict = VERDICT_INCONCLUSIVE;
    assert_int_equal(judged(), VERDICT_INCONCLUSIVE);
    assert_int_equal(t.v.reason_count, 2);
    points_fini(&t.points);
}

static void test_half_of_each_kind_is_judged(void **state)
{
    set_up(580, 4);
    t.results[582].reached = t.results[583].reached = 0;
    assert_int_equal(judged(), VERDICT_PASS);
    t.results[581].reached = 0;
    assert_int_equal(judged(), VERDICT_INCONCLUSIVE);
    assert_string_equal(t.v.reasons[0], "3 of 4 trials at client Terminate were not judged");
    points_fini(&t.points);
}

// In a merge there may be trials beside a shard whose collector did not pass without a cut.
static void test_shard_that_fails_without_a_cut_is_told(void **state)
{
    set_up(200, 0);
    t.uncut.values[METRIC_COLLECTOR_BATCHES] = 1;
    t.uncut.verdict = VERDICT_INCONCLUSIVE;
    assert_int_equal(judged(), VERDICT_INCONCLUSIVE);
    assert_non_null(strstr(t.v.reasons[0], "without any cut the trial is inconclusive"));
    t.uncut.verdict = VERDICT_VIOLATED;
    assert_int_equal(judged(), VERDICT_VIOLATED);
    assert_non_null(strstr(t.v.reasons[0], "without any cut the collector fails as well"));
    // One that wrote nothing may not know the server, and convicts nobody.
    t.uncut.values[METRIC_COLLECTOR_BATCHES] = 0;
    assert_int_equal(judged(), VERDICT_INCONCLUSIVE);
    t.results[0].verdict = VERDICT_VIOLATED;
    assert_int_equal(judged(), VERDICT_VIOLATED);
    points_fini(&t.points);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_one_message_may_not_come_again),
        cmocka_unit_test(test_two_of_a_hundred_are_not_judged),
        cmocka_unit_test(test_half_of_each_kind_is_judged),
        cmocka_unit_test(test_shard_that_fails_without_a_cut_is_told),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
