#include <math.h>

#include "base/unit.h"
#include "compare/compare.h"
#include "plan/rng.h"

#define RUNS 10
#define SERIES 1000
#define FLAKY 300 // number of series in the tests of chance failures

// Standard deviation of the logarithm of a figure: how much runs of one collector differ, about, on
// a shared machine.
static double noise = 0.1;

// Returns a normally distributed number (Box and Muller) with mean 0 and deviation 1.
static double normal(struct rng *r)
{
    return sqrt(2 * rng_exponential(r)) * cos(2 * acos(-1) * rng_uniform(r));
}

// Returns a run with noisy figures; `slowdown` 1.25: its times are 25% longer.
static struct stored a_run(double slowdown, struct rng *r)
{
    struct stored run = {.scenario = "made-up"};

    for (enum metric_id id = 0; id < METRIC_COUNT; id++)
        run.values[id] = NAN;
    run.values[METRIC_LATENCY_P50] = 20 * slowdown * exp(noise * normal(r));
    run.values[METRIC_LATENCY_P99] = 90 * slowdown * exp(noise * normal(r));
    run.values[METRIC_RATE_DELIVERED] = 200 / slowdown * exp(noise / 10 * normal(r));
    run.values[METRIC_COLLECTOR_CPU_S] = 0.2 * slowdown * exp(noise * normal(r));
    return run;
}

static void add_runs(struct side *s, size_t count, double slowdown, struct rng *r)
{
    for (size_t i = 0; i < count; i++) {
        struct stored run = a_run(slowdown, r);
        side_add(s, &run);
    }
}

// Compares the sides with a margin of 10%, and frees them.
static enum change judge(struct side *base, struct side *new)
{
    struct comparison c;
    struct err e = {0};

    assert_true(compare_sides(&c, base, new, 0.1, &e));
    side_fini(base);
    side_fini(new);
    return c.overall;
}

// Returns how many of SERIES comparisons end as `wanted`. Each compares RUNS runs with RUNS runs
// whose times are `slowdown` times as long.
static int count_changes(enum change wanted, double slowdown, uint64_t seed)
{
    struct rng rng;
    int found = 0;

    rng_init(&rng, seed, 0);
    for (int i = 0; i < SERIES; i++) {
        struct side base = {.name = "a"}, new = {.name = "b"};
        add_runs(&base, RUNS, 1, &rng);
        add_runs(&new, RUNS, slowdown, &rng);
        found += judge(&base, &new) == wanted;
    }
    return found;
}

static void planted_slowdowns_are_found(void **state)
{
    int found = count_changes(CHANGE_WORSE, 1.25, 7);
    print_message("25%% slower: found in %d of %d series\n", found, SERIES);
    assert_true(found >= SERIES * 95 / 100);
    assert_true(count_changes(CHANGE_BETTER, 0.8, 8) >= SERIES * 95 / 100);
}

static void like_with_like_raises_no_alarm(void **state)
{
    int worse = count_changes(CHANGE_WORSE, 1, 9), better = count_changes(CHANGE_BETTER, 1, 10);
    print_message("A against A: called worse in %d, better in %d of %d\n", worse, better, SERIES);
    assert_true(worse <= SERIES * 5 / 100 && better <= SERIES * 5 / 100);
}

// On a quiet machine, equal sides are found equal. If the true difference is as large as the
// margin, at most 5% of the comparisons say "no difference", on a quiet machine and on a noisy one.
static void no_difference_is_an_equivalence(void **state)
{
    noise = 0.02;
    int found = count_changes(CHANGE_NONE, 1, 11), wrong = count_changes(CHANGE_NONE, 1.1, 12);
    noise = 0.1;
    int noisy = count_changes(CHANGE_NONE, 1.1, 13);
    print_message("no difference: %d of likes, %d and %d at the margin, of %d\n", found, wrong,
        noisy, SERIES);
    assert_true(found >= SERIES * 95 / 100);
    assert_true(wrong <= SERIES * 5 / 100 && noisy <= SERIES * 5 / 100);
}

// The difference of 5% is certain, but smaller than the margin of 10%.
static void small_effects_do_not_count(void **state)
{
    struct side base = {.name = "a"}, new = {.name = "b"};

    for (int i = 0; i < RUNS; i++) {
        struct stored run = {.scenario = "made-up"};
        run.values[METRIC_LATENCY_P50] = 100 + i / 100.0;
        side_add(&base, &run);
        run.values[METRIC_LATENCY_P50] = 105 + i / 100.0;
        side_add(&new, &run);
    }
    assert_int_equal(judge(&base, &new), CHANGE_NONE);
}

static void few_runs_say_nothing(void **state)
{
    struct rng rng;

    rng_init(&rng, 1, 0);
    for (size_t n = 0; n <= 6; n++) {
        struct side base = {.name = "a"}, new = {.name = "b"};
        add_runs(&base, n, 1, &rng);
        add_runs(&new, n, 100, &rng);
        assert_int_equal(judge(&base, &new), n < 5 ? CHANGE_UNKNOWN : CHANGE_WORSE);
    }
}

static void fail_runs(struct side *s, size_t count, enum metric_id id)
{
    for (size_t i = 0; i < count; i++) {
        s->runs[i].verdict = VERDICT_VIOLATED;
        s->runs[i].broken[id] = true;
    }
}

// Compares two sides, of which the given numbers of runs lose mail. The new side's times are
// `new_slowdown` times as long.
static enum change judge_losses(size_t base_lost, size_t new_lost, double new_slowdown)
{
    struct side base = {.name = "a"}, new = {.name = "b"};
    struct rng rng;

    rng_init(&rng, 1, 0);
    add_runs(&base, RUNS, 1, &rng);
    add_runs(&new, RUNS, new_slowdown, &rng);
    fail_runs(&base, base_lost, METRIC_LOST);
    fail_runs(&new, new_lost, METRIC_LOST);
    return judge(&base, &new);
}

static void correctness_outranks_speed(void **state)
{
    assert_int_equal(judge_losses(0, RUNS, 0.1), CHANGE_WORSE);
    assert_int_equal(judge_losses(RUNS, 0, 10), CHANGE_BETTER);
}

static void correctness_is_compared_as_rates(void **state)
{
    assert_int_equal(judge_losses(1, RUNS, 1), CHANGE_WORSE);
    assert_int_equal(judge_losses(RUNS, 1, 1), CHANGE_BETTER);
    // Ten runs on each side are too few to tell such rates apart.
    assert_int_equal(judge_losses(0, 1, 1), CHANGE_UNKNOWN);
    assert_int_equal(judge_losses(5, 5, 1), CHANGE_UNKNOWN);
    // One failure is no proof, as above, but the side is worse because it is also slower.
    assert_int_equal(judge_losses(0, 1, 2), CHANGE_WORSE);
}

// Returns how many of FLAKY comparisons say "worse" although both sides are alike: each run of
// either side fails with the probability `rate`.
static size_t count_flaky_alarms(double rate, size_t runs, uint64_t seed)
{
    struct rng rng;
    size_t alarms = 0;

    rng_init(&rng, seed, 3);
    for (int series = 0; series < FLAKY; series++) {
        struct side sides[2] = {{.name = "a"}, {.name = "b"}};
        for (int k = 0; k < 2; k++) {
            add_runs(&sides[k], runs, 1, &rng);
            for (size_t i = 0; i < runs; i++) {
                enum metric_id id = rng_below(&rng, 2) ? METRIC_LATE : METRIC_LOST;
                if (rng_uniform(&rng) >= rate)
                    continue;
                sides[k].runs[i].verdict = VERDICT_VIOLATED;
                sides[k].runs[i].broken[id] = true;
            }
        }
        alarms += judge(&sides[0], &sides[1]) == CHANGE_WORSE;
    }
    return alarms;
}

static void a_flake_on_both_sides_raises_no_alarm(void **state)
{
    static const double rates[] = {0.05, 0.2, 0.5};

    for (size_t i = 0; i < sizeof rates / sizeof *rates; i++) {
        size_t few = count_flaky_alarms(rates[i], 10, 20 + i);
        size_t many = count_flaky_alarms(rates[i], 40, 30 + i);
        print_message("flake of %.0f%%: %zu alarms with 10 runs a side, %zu with 40, of %d\n",
            100 * rates[i], few, many, FLAKY);
        assert_true(few <= FLAKY * 5 / 100 && many <= FLAKY * 5 / 100);
    }
}

// A single stall of the machine makes a token late, whatever the collector does. So a few runs with
// late tokens are no proof against their side; six of ten are.
static void one_late_run_may_be_chance(void **state)
{
    for (size_t late = 0; late <= RUNS; late++) {
        struct side base = {.name = "a"}, new = {.name = "b"};
        struct comparison c;
        struct rng rng;
        struct err e = {0};
        rng_init(&rng, 1, 0);
        add_runs(&base, RUNS, 1, &rng);
        add_runs(&new, RUNS, 1, &rng);
        fail_runs(&new, late, METRIC_LATE);
        assert_true(compare_sides(&c, &base, &new, 0.1, &e));
        assert_int_equal(c.correctness, late == 0  ? CHANGE_NONE
                                        : late < 6 ? CHANGE_UNKNOWN
                                                   : CHANGE_WORSE);
        side_fini(&base);
        side_fini(&new);
    }
}

// Slowness makes runs inconclusive, so dropping such runs would hide it. Seven runs of one side are
// inconclusive here, and its other three are twice as fast: that side still counts as worse.
static void inconclusive_runs_count_against_their_side(void **state)
{
    for (int other = 0; other < 2; other++) {
        struct side sides[2] = {{.name = "a"}, {.name = "b"}};
        struct rng rng;
        rng_init(&rng, 1, 0);
        for (int k = 0; k < 2; k++)
            add_runs(&sides[k], RUNS, k == other ? 0.5 : 1, &rng);
        for (size_t i = 0; i < 7; i++)
            sides[other].runs[i].verdict = VERDICT_INCONCLUSIVE;
        assert_int_equal(judge(&sides[0], &sides[1]), other ? CHANGE_WORSE : CHANGE_BETTER);
    }
}

// Runs of both sides are inconclusive with the same probability, so the machine is the cause.
static void a_busy_machine_raises_no_alarm(void **state)
{
    struct rng rng;
    size_t alarms = 0;

    rng_init(&rng, 5, 4);
    for (int series = 0; series < FLAKY; series++) {
        struct side sides[2] = {{.name = "a"}, {.name = "b"}};
        for (int k = 0; k < 2; k++) {
            add_runs(&sides[k], RUNS, 1, &rng);
            for (size_t i = 0; i < RUNS; i++) {
                if (rng_uniform(&rng) < 0.3)
                    sides[k].runs[i].verdict = VERDICT_INCONCLUSIVE;
            }
        }
        alarms += judge(&sides[0], &sides[1]) == CHANGE_WORSE;
    }
    print_message("30%% inconclusive: %zu alarms of %d\n", alarms, FLAKY);
    assert_true(alarms <= FLAKY * 5 / 100);
}

static void nothing_is_printed_as_nan(void **state)
{
    struct side base = {.name = "a"}, new = {.name = "b"};
    struct comparison c;
    struct rng rng;
    struct buf out;
    struct err e = {0};

    rng_init(&rng, 1, 0);
    add_runs(&base, 3, 1, &rng);
    add_runs(&new, 3, 1, &rng);
    new.runs[0].verdict = new.runs[1].verdict = VERDICT_INCONCLUSIVE;
    assert_true(compare_sides(&c, &base, &new, 0.1, &e));
    buf_init(&out, 1 << 16);
    assert_true(print_terminal(&c, &out) && print_markdown(&c, &out) && print_csv(&c, 1, &out) &&
                print_json(&c, 1, &out));
    assert_non_null(buf_str(&out));
    assert_null(strstr(out.data, "nan"));
    assert_null(strstr(out.data, "inf "));
    assert_non_null(strstr(out.data, "inconclusive in 0 of 3 runs of a, in 2 of 3 of b"));
    buf_fini(&out);
    side_fini(&base);
    side_fini(&new);
}

// Half of a side's runs are inconclusive. No median of it is known, whether more or less is better.
static void the_median_of_inconclusive_runs_is_unknown(void **state)
{
    struct side base = {.name = "a"}, new = {.name = "b"};
    struct comparison c;
    struct rng rng;
    struct err e = {0};

    rng_init(&rng, 1, 0);
    add_runs(&base, 4, 1, &rng);
    add_runs(&new, 4, 1, &rng);
    new.runs[0].verdict = new.runs[1].verdict = VERDICT_INCONCLUSIVE;
    assert_true(compare_sides(&c, &base, &new, 0.1, &e));
    assert_int_equal(c.row_count, 4);
    for (size_t i = 0; i < c.row_count; i++) {
        struct print_cells cells;
        print_cells(&c.rows[i], &cells);
        assert_string_equal(cells.new, "unknown");
        assert_string_not_equal(cells.base, "unknown");
    }
    side_fini(&base);
    side_fini(&new);
}

// More runs would not help when none of them is conclusive, or when they lack every figure of
// speed.
static void a_missing_speed_is_not_too_few_runs(void **state)
{
    for (int unmeasured = 0; unmeasured < 2; unmeasured++) {
        struct side sides[2] = {{.name = "a"}, {.name = "b"}};
        struct comparison c;
        struct rng rng;
        struct buf out;
        struct err e = {0};
        rng_init(&rng, 1, 0);
        for (int k = 0; k < 2; k++) {
            add_runs(&sides[k], RUNS, 1, &rng);
            for (size_t i = 0; i < RUNS; i++) {
                sides[k].runs[i].verdict = unmeasured ? VERDICT_PASS : VERDICT_INCONCLUSIVE;
                for (enum metric_id id = 0; unmeasured && id < METRIC_COUNT; id++)
                    sides[k].runs[i].values[id] = NAN;
            }
        }
        assert_true(compare_sides(&c, &sides[0], &sides[1], 0.1, &e));
        buf_init(&out, 1000);
        print_comparison_verdict(&c, &out);
        assert_string_equal(buf_str(&out),
            unmeasured ? "cannot tell: no metric of speed was measured in all conclusive runs"
                       : "cannot tell: a side has no conclusive run");
        buf_fini(&out);
        side_fini(&sides[0]);
        side_fini(&sides[1]);
    }
}

// When the comparison cannot tell, its verdict names the metrics whose change is unknown, and no
// others.
static void the_speed_is_not_named_when_it_is_known(void **state)
{
    struct comparison c = {.correctness = CHANGE_UNKNOWN,
        .overall = CHANGE_UNKNOWN,
        .rows = {{.id = METRIC_LATENCY_P99, .change = CHANGE_NONE}},
        .row_count = 1,
        .margin = 0.1};
    struct buf out;

    buf_init(&out, 1000);
    print_comparison_verdict(&c, &out);
    assert_string_equal(
        buf_str(&out), "cannot tell: too few runs to tell which side fails more often");
    buf_clear(&out);
    c.rows[0].change = CHANGE_UNKNOWN;
    print_comparison_verdict(&c, &out);
    assert_non_null(strstr(buf_str(&out), "often; latency.p99 may differ by more than 10% or not"));
    buf_fini(&out);
}

static void changes_are_told_with_their_interval(void **state)
{
    struct side base = {.name = "a"}, new = {.name = "b"};
    struct comparison c;
    struct buf out;
    struct err e = {0};

    for (int i = 0; i < RUNS; i++) {
        struct stored run = {.scenario = "made-up"};
        for (enum metric_id id = 0; id < METRIC_COUNT; id++)
            run.values[id] = NAN;
        run.values[METRIC_RATE_DELIVERED] = 200 + i;
        side_add(&base, &run);
        run.values[METRIC_RATE_DELIVERED] = 100 + i / 2.0;
        side_add(&new, &run);
    }
    assert_true(compare_sides(&c, &base, &new, 0.1, &e));
    buf_init(&out, 1 << 16);
    assert_true(print_terminal(&c, &out) && buf_str(&out));
    assert_non_null(strstr(
        out.data, "regression: rate.delivered of b is 50% lower than that of a (49 to 51%)"));
    buf_fini(&out);
    side_fini(&base);
    side_fini(&new);
}

// Both sides' curves are drawn. When one side lacks a percentile, nothing is drawn.
static void curves_of_both_sides(void **state)
{
    struct side base = {.name = "a&b"}, new = {.name = "b"};
    struct comparison c;
    struct err e = {0};
    struct rng rng;
    struct buf out;

    rng_init(&rng, 1, 0);
    add_runs(&base, RUNS, 1, &rng);
    add_runs(&new, RUNS, 1, &rng);
    for (size_t i = 0; i < RUNS; i++) {
        for (int k = METRIC_LATENCY_P50; k <= METRIC_LATENCY_P999; k++) {
            base.runs[i].values[k] = 100 + 10 * k + (double)i;
            new.runs[i].values[k] = 200 + 10 * k + (double)i;
        }
    }
    assert_true(compare_sides(&c, &base, &new, 0.1, &e));
    buf_init(&out, 1 << 20);
    curves_print(&c, &out);
    assert_non_null(strstr(buf_str(&out), "<g class=\"side-a\"><path class=\"band\" d=\"M"));
    assert_non_null(strstr(out.data, "<g class=\"side-b\"><path class=\"band\" d=\"M"));
    assert_non_null(strstr(out.data, ">a&amp;b</text>"));
    for (size_t i = 0; i < RUNS; i++)
        new.runs[i].values[METRIC_LATENCY_P90] = new.runs[i].values[METRIC_COMMIT_LATENCY_P90] =
            NAN;
    buf_clear(&out);
    curves_print(&c, &out);
    assert_int_equal(out.len, 0);
    buf_fini(&out);
    side_fini(&base);
    side_fini(&new);
}

// A damaged result.json may hold the smallest double, for which an axis has no step. Drawing must
// not go on forever; alarm() would end the test.
static void the_smallest_value_is_not_drawn(void **state)
{
    struct side base = {.name = "a"}, new = {.name = "b"};
    struct comparison c;
    struct err e = {0};
    struct rng rng;
    struct buf out;

    rng_init(&rng, 1, 0);
    add_runs(&base, RUNS, 1, &rng);
    add_runs(&new, RUNS, 1, &rng);
    for (size_t i = 0; i < RUNS; i++) {
        base.runs[i].values[METRIC_LATENCY_P50] = 5e-324;
        new.runs[i].values[METRIC_LATENCY_P50] = 5e-324;
    }
    assert_true(compare_sides(&c, &base, &new, 0.1, &e));
    buf_init(&out, 1 << 20);
    alarm(100);
    assert_true(picture_html(&c, 1, &out));
    alarm(0);
    buf_fini(&out);
    side_fini(&base);
    side_fini(&new);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(planted_slowdowns_are_found),
        cmocka_unit_test(like_with_like_raises_no_alarm),
        cmocka_unit_test(no_difference_is_an_equivalence),
        cmocka_unit_test(small_effects_do_not_count),
        cmocka_unit_test(few_runs_say_nothing),
        cmocka_unit_test(correctness_outranks_speed),
        cmocka_unit_test(one_late_run_may_be_chance),
        cmocka_unit_test(correctness_is_compared_as_rates),
        cmocka_unit_test(a_flake_on_both_sides_raises_no_alarm),
        cmocka_unit_test(inconclusive_runs_count_against_their_side),
        cmocka_unit_test(a_busy_machine_raises_no_alarm),
        cmocka_unit_test(nothing_is_printed_as_nan),
        cmocka_unit_test(the_median_of_inconclusive_runs_is_unknown),
        cmocka_unit_test(a_missing_speed_is_not_too_few_runs),
        cmocka_unit_test(the_speed_is_not_named_when_it_is_known),
        cmocka_unit_test(changes_are_told_with_their_interval),
        cmocka_unit_test(curves_of_both_sides),
        cmocka_unit_test(the_smallest_value_is_not_drawn),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
