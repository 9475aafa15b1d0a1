#include <math.h>

#include "base/unit.h"
#include "measure/stats.h"
#include "plan/rng.h"
#include "tune/precision.h"
#include "tune/schedule.h"
#include "tune/tuning.h"

#define RUNS_MAX 40

static void assert_near(double got, double want, double off)
{
    if (!(fabs(got - want) <= off))
        fail_msg("%g instead of %g", got, want);
}

// A pair with known true figures. The measured figures of its runs are these with noise.
struct noisy {
    double p99, tokens;
    double values_p99[RUNS_MAX], values_tokens[RUNS_MAX];
    size_t runs;
};

// Returns a number that is close to normally distributed, with mean 0: the sum of twelve uniform
// numbers has a variance of one.
static double bell(struct rng *rng)
{
    double sum = -6;

    for (int i = 0; i < 12; i++)
        sum += rng_uniform(rng);
    return sum;
}

// Makes one more run of the pair: appends its true figures with noise.
static void run(struct noisy *pair, double noise, struct rng *rng)
{
    assert_true(pair->runs < RUNS_MAX);
    pair->values_p99[pair->runs] = pair->p99 * exp(noise * bell(rng));
    pair->values_tokens[pair->runs++] = pair->tokens * exp(0.01 * bell(rng));
}

// Fills `views` with what is measured of the pairs, and returns the schedule that points to them.
static struct schedule view(const struct noisy *pairs, size_t count, struct schedule_pair *views,
    const struct expectation *objective)
{
    for (size_t i = 0; i < count; i++)
        views[i] = (struct schedule_pair){.values = pairs[i].values_p99,
            .p99 = pairs[i].values_p99,
            .tokens = pairs[i].values_tokens,
            .count = pairs[i].runs,
            .tried = pairs[i].runs};
    return (struct schedule){.pairs = views,
        .count = count,
        .objective = objective,
        .precision = 0.1,
        .runs_min = 1,
        .runs_max = RUNS_MAX};
}

// Makes rounds of runs until no pair needs more. `noise` is the standard deviation of a p99's
// logarithm.
static void run_all(struct noisy *pairs, size_t count, const struct expectation *objective,
    double noise, uint64_t seed)
{
    struct schedule_pair views[8];
    size_t order[8], wanted = count;
    struct rng rng;

    rng_init(&rng, seed, 77);
    for (uint64_t round = 0; wanted > 0; round++) {
        struct schedule s = view(pairs, count, views, objective);
        wanted = schedule_round(&s, seed, round, order);
        for (size_t i = 0; i < wanted; i++)
            run(&pairs[order[i]], noise, &rng);
    }
}

static void intervals_of_few_values(void **state)
{
    const double one[] = {5}, two[] = {10, 40}, spoilt[] = {10, 40, NAN, 0};

    struct precision p = precision_of(one, 1);
    assert_near(p.median, 5, 1e-9);
    assert_true(isinf(precision_share(&p)));
    // The logarithms of 10 and 40 are ln 20 - ln 2 and ln 20 + ln 2. The standard error of two
    // values is half the distance between them, here ln 2. So the interval reaches t times ln 2 to
    // either side.
    const double t = precision_quantile(1);
    p = precision_of(two, 2);
    assert_near(p.median, 20, 1e-9);
    assert_near(log(p.high / 20), t * log(2), 1e-6);
    assert_near(log(20 / p.low), t * log(2), 1e-6);
    assert_near(precision_share(&p), pow(2, t) - 1, 1e-3 * pow(2, t));
    p = precision_of(spoilt, 4);
    assert_near(log(p.high / 20), t * log(2), 1e-6);
    p = precision_of(spoilt, 0);
    assert_true(isnan(p.median));
}

static void assert_printed(const double *values, size_t count, const char *want)
{
    struct precision p = precision_of(values, count);
    struct buf out;

    buf_init(&out, 100);
    precision_print(&p, "unknown", &out);
    assert_string_equal(buf_str(&out) ? out.data : NULL, want);
    buf_fini(&out);
}

static void precision_of_few_values_is_not_printed(void **state)
{
    assert_printed((double[]){10, 10.1}, 2, "unknown");
    assert_printed((double[]){10, 10.1, NAN}, 3, "unknown");
    assert_printed((double[]){1, 10, 100}, 3, "not known yet");
    assert_printed((double[]){60, 65, 90}, 3, "not known yet");
    assert_printed((double[]){60, 65, 65}, 3, "± 43%");
    assert_printed((double[]){10, 10, 10}, 3, "± 0%");
    assert_printed((double[]){10, 10.1, 10.2}, 3, "± 8%");
}

static void quantiles_are_students(void **state)
{
    assert_true(isinf(precision_quantile(0)));
    for (size_t degrees = 1; degrees <= PRECISION_DEGREES; degrees++) {
        double want = stats_student(degrees, PRECISION_ALPHA / (PRECISION_CHECKS + 1));
        assert_near(precision_quantile(degrees), want, 1e-5 * want);
    }
}

static void checks_are_few(void **state)
{
    assert_int_equal(precision_checked(2), 0);
    assert_int_equal(precision_checked(3), 3);
    assert_int_equal(precision_checked(4), 3);
    assert_int_equal(precision_checked(12), 8);
    assert_int_equal(precision_checked(100), 80);
}

// At least 95% of the intervals hold the true value, although the runs end as soon as an interval
// is narrow enough (or there are RUNS_MAX of them).
static void stopping_does_not_narrow_intervals(void **state)
{
    static const double noises[] = {0.02, 0.05, 0.1, 0.2};

    for (size_t i = 0; i < sizeof noises / sizeof *noises; i++) {
        size_t held = 0, series = 300;
        for (uint64_t seed = 0; seed < series; seed++) {
            struct noisy pair = {.p99 = 80, .tokens = 10};
            run_all(&pair, 1, NULL, noises[i], seed);
            struct precision p = precision_of(pair.values_p99, pair.runs);
            held += p.low <= 80 && 80 <= p.high;
        }
        print_message("noise %g: %zu of %zu intervals hold the truth\n", noises[i], held, series);
        assert_true(held >= series * 95 / 100);
    }
}

// Quiet machines need few runs, noisy ones more, and both end as precise as asked.
static void runs_until_it_is_precise(void **state)
{
    size_t runs[2] = {0};

    for (uint64_t seed = 0; seed < 100; seed++) {
        for (int noisy = 0; noisy < 2; noisy++) {
            struct noisy pair = {.p99 = 80, .tokens = 10};
            run_all(&pair, 1, NULL, noisy ? 0.2 : 0.02, seed);
            struct precision p = precision_of(pair.values_p99, pair.runs);
            assert_true(precision_share(&p) <= 0.1 || pair.runs == RUNS_MAX);
            runs[noisy] += pair.runs;
        }
    }
    assert_in_range(runs[0], 300, 500);
    assert_true(runs[1] > 3 * runs[0]);
}

// A pair with smaller batches and three times the latency gets no more runs long before its
// figures are precise. The better pair is never called beaten, in a hundred tries.
static void beaten_pairs_are_left_alone(void **state)
{
    size_t better = 0, worse = 0;

    for (uint64_t seed = 0; seed < 100; seed++) {
        struct noisy pairs[] = {{.p99 = 100, .tokens = 20}, {.p99 = 300, .tokens = 10}};
        struct schedule_pair views[2];
        run_all(pairs, 2, NULL, 0.2, seed);
        struct schedule s = view(pairs, 2, views, NULL);
        assert_int_not_equal(schedule_state(&s, 0), SCHEDULE_BEATEN);
        better += pairs[0].runs;
        worse += pairs[1].runs;
    }
    assert_true(2 * worse < better);
}

// A pair with the same latency and slightly smaller batches is rarely called beaten: it is not
// certainly worse.
static void equals_are_not_beaten(void **state)
{
    size_t beaten = 0;

    for (uint64_t seed = 0; seed < 100; seed++) {
        struct noisy pairs[] = {{.p99 = 100, .tokens = 20}, {.p99 = 100, .tokens = 18}};
        struct schedule_pair views[2];
        run_all(pairs, 2, NULL, 0.2, seed);
        struct schedule s = view(pairs, 2, views, NULL);
        beaten += schedule_state(&s, 1) == SCHEDULE_BEATEN;
    }
    assert_in_range(beaten, 0, 10);
}

// A pair far from the objective needs only a few runs to be called a miss, and a pair that meets
// it is rarely called one.
static void misses_the_objective_for_certain(void **state)
{
    struct expectation below = {.metric = (char[]){"latency.p99"}, .value = 150};
    size_t wrong = 0;

    strcpy(below.comparison, "<");
    for (uint64_t seed = 0; seed < 200; seed++) {
        struct noisy pairs[] = {{.p99 = 100, .tokens = 20}, {.p99 = 400, .tokens = 40}};
        struct schedule_pair views[2];
        run_all(pairs, 2, &below, 0.1, seed);
        struct schedule s = view(pairs, 2, views, &below);
        wrong += schedule_state(&s, 0) == SCHEDULE_MISSES;
        assert_int_equal(schedule_state(&s, 1), SCHEDULE_MISSES);
        assert_true(pairs[1].runs <= 5);
    }
    assert_true(wrong <= 10);
}

// The p99 and the batches of the second pair are better, but it misses an objective on the p50.
static void a_pair_that_misses_beats_no_other(void **state)
{
    static const double p50[] = {50, 51, 49, 50, 51}, missed_p50[] = {90, 91, 89, 90, 91};
    static const double p99[] = {200, 201, 199, 200, 201}, lower_p99[] = {100, 101, 99, 100, 101};
    static const double tokens[] = {10, 10.1, 9.9, 10, 10.1}, more[] = {20, 20.1, 19.9, 20, 20.1};
    const struct schedule_pair pairs[] = {
        {.values = p50, .p99 = p99, .tokens = tokens, .count = 5, .tried = 5},
        {.values = missed_p50, .p99 = lower_p99, .tokens = more, .count = 5, .tried = 5}};
    struct expectation below = {.metric = (char[]){"latency.p50"}, .value = 95};
    struct schedule s = {
        .pairs = pairs, .count = 2, .objective = &below, .precision = 0.1, .runs_max = 5};

    strcpy(below.comparison, "<");
    assert_int_equal(schedule_state(&s, 0), SCHEDULE_BEATEN);
    below.value = 60;
    assert_int_equal(schedule_state(&s, 1), SCHEDULE_MISSES);
    // It had its last run, too, and still is known well.
    assert_int_equal(schedule_state(&s, 0), SCHEDULE_PRECISE);
}

static void broken_and_spoilt_pairs(void **state)
{
    struct schedule_pair pairs[] = {
        {.broken = true, .tried = 1}, {.tried = 9}, {.tried = 10}, {.tried = 0}};
    const struct schedule s = {
        .pairs = pairs, .count = 4, .precision = 0.1, .runs_min = 3, .runs_max = 20};
    size_t order[4];

    assert_int_equal(schedule_state(&s, 0), SCHEDULE_BROKEN);
    assert_int_equal(schedule_state(&s, 1), SCHEDULE_OPEN);
    assert_int_equal(schedule_state(&s, 2), SCHEDULE_GIVEN_UP);
    assert_int_equal(schedule_round(&s, 1, 0, order), 2);
    assert_int_equal(order[0] + order[1], 1 + 3);
}

// Each order comes about as often as any other. The same seed gives the same order.
static void orders_are_shuffled(void **state)
{
    struct schedule_pair pairs[3] = {{.tried = 0}};
    const struct schedule s = {.pairs = pairs, .count = 3, .runs_min = 1, .runs_max = 20};
    int first[3] = {0};
    size_t order[3], again[3];

    for (uint64_t round = 0; round < 300; round++) {
        assert_int_equal(schedule_round(&s, 1, round, order), 3);
        assert_int_equal(schedule_round(&s, 1, round, again), 3);
        assert_memory_equal(order, again, sizeof order);
        assert_int_equal(order[0] + order[1] + order[2], 3);
        first[order[0]]++;
    }
    for (int i = 0; i < 3; i++)
        assert_in_range(first[i], 70, 130);
}

static void unmeasured_pairs_come_first(void **state)
{
    const double values[] = {50, 100};
    struct schedule_pair known = {
        .values = values, .p99 = values, .tokens = values, .count = 2, .tried = 2};
    struct schedule_pair pairs[] = {known, {.tried = 2}, known, {.tried = 1}};
    const struct schedule s = {
        .pairs = pairs, .count = 4, .precision = 0.1, .runs_min = 1, .runs_max = 20};
    size_t order[4];

    for (uint64_t round = 0; round < 20; round++) {
        assert_int_equal(schedule_round(&s, 1, round, order), 4);
        assert_int_equal(order[0] + order[1], 1 + 3);
        assert_int_equal(order[2] + order[3], 0 + 2);
    }
}

// Two pairs and a day of time: 20 runs at most of each, and one that counts its round trips.
static void a_forecast_keeps_to_the_runs_of_a_pair(void **state)
{
    static const struct options options;
    static struct tuning t;
    static struct load_phase load = {.for_ns = NS_PER_S};
    static char provider[] = "local";

    t.options = &options;
    t.scenario.load = &load;
    t.scenario.load_count = 1;
    t.scenario.postgres.provider = provider;
    t.tune.count = 2;
    t.repeat = 1;
    t.within_ns = INT64_C(86400) * NS_PER_S;
    assert_int_equal(sweep_forecast(&t).runs, 2 * 20 + 2);
    t.within_ns = 0;
    assert_int_equal(sweep_forecast(&t).runs, 2 * 1 + 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(intervals_of_few_values),
        cmocka_unit_test(precision_of_few_values_is_not_printed),
        cmocka_unit_test(quantiles_are_students),
        cmocka_unit_test(checks_are_few),
        cmocka_unit_test(stopping_does_not_narrow_intervals),
        cmocka_unit_test(runs_until_it_is_precise),
        cmocka_unit_test(beaten_pairs_are_left_alone),
        cmocka_unit_test(equals_are_not_beaten),
        cmocka_unit_test(misses_the_objective_for_certain),
        cmocka_unit_test(a_pair_that_misses_beats_no_other),
        cmocka_unit_test(broken_and_spoilt_pairs),
        cmocka_unit_test(orders_are_shuffled),
        cmocka_unit_test(unmeasured_pairs_come_first),
        cmocka_unit_test(a_forecast_keeps_to_the_runs_of_a_pair),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
