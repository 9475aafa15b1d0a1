#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "compare/collect.h"
#include "plan/rng.h"

#define RUNS 10
#define SERIES 1000

// Two runs of one collector on a shared machine differ by about this much.
static const double noise = 0.1;

static double normal(struct rng *r)
{
    return sqrt(2 * rng_exponential(r)) * cos(2 * acos(-1) * rng_uniform(r));
}

static struct stored a_run(double speed, struct rng *r)
{
    struct stored run = {.scenario = "made-up"};

    for (enum metric_id id = 0; id < METRIC_COUNT; id++)
        run.values[id] = NAN;
    run.values[METRIC_LATENCY_P50] = 20 * speed * exp(noise * normal(r));
    run.values[METRIC_LATENCY_P99] = 90 * speed * exp(noise * normal(r));
    run.values[METRIC_RATE_DELIVERED] = 200 / speed * exp(noise / 10 * normal(r));
    run.values[METRIC_COLLECTOR_CPU_S] = 0.2 * speed * exp(noise * normal(r));
    return run;
}

static void add_runs(struct side *s, size_t count, double speed, struct rng *r)
{
    for (size_t i = 0; i < count; i++) {
        struct stored run = a_run(speed, r);
        assert_true(side_add(s, &run));
    }
}

static enum change judge(struct side *base, struct side *new)
{
    struct comparison c;
    struct err e = {0};

    assert_true(compare_sides(&c, base, new, 0.1, &e));
    side_fini(base);
    side_fini(new);
    return c.overall;
}

static int count_changes(enum change wanted, double speed, uint64_t seed)
{
    struct rng rng;
    int found = 0;

    rng_init(&rng, seed, 0);
    for (int i = 0; i < SERIES; i++) {
        struct side base = {.name = "a"}, new = {.name = "b"};
        add_runs(&base, RUNS, 1, &rng);
        add_runs(&new, RUNS, speed, &rng);
        found += judge(&base, &new) == wanted;
    }
    return found;
}

static void planted_slowdowns_are_found(void **state)
{
    (void)state;
    int found = count_changes(CHANGE_WORSE, 1.25, 7);
    print_message("25%% slower: found in %d of %d series\n", found, SERIES);
    assert_true(found >= SERIES * 95 / 100);
    assert_true(count_changes(CHANGE_BETTER, 0.8, 8) >= SERIES * 95 / 100);
}

static void like_with_like_is_no_difference(void **state)
{
    (void)state;
    int alarms = SERIES - count_changes(CHANGE_NONE, 1, 9);
    print_message("A against A: %d false alarms in %d series\n", alarms, SERIES);
    assert_true(alarms <= SERIES * 5 / 100);
}

// Certain, but too small to matter.
static void small_effects_do_not_count(void **state)
{
    struct side base = {.name = "a"}, new = {.name = "b"};

    (void)state;
    for (int i = 0; i < RUNS; i++) {
        struct stored run = {.scenario = "made-up"};
        run.values[METRIC_LATENCY_P50] = 100 + i / 100.0;
        assert_true(side_add(&base, &run));
        run.values[METRIC_LATENCY_P50] = 105 + i / 100.0;
        assert_true(side_add(&new, &run));
    }
    assert_int_equal(judge(&base, &new), CHANGE_NONE);
}

static void few_runs_say_nothing(void **state)
{
    struct rng rng;

    (void)state;
    rng_init(&rng, 1, 0);
    for (size_t n = 0; n <= 6; n++) {
        struct side base = {.name = "a"}, new = {.name = "b"};
        add_runs(&base, n, 1, &rng);
        add_runs(&new, n, 100, &rng);
        assert_int_equal(judge(&base, &new), n < 5 ? CHANGE_UNKNOWN : CHANGE_WORSE);
    }
}

static void correctness_outranks_speed(void **state)
{
    struct side base = {.name = "a"}, new = {.name = "b"};
    struct rng rng;

    (void)state;
    rng_init(&rng, 1, 0);
    add_runs(&base, RUNS, 10, &rng);
    add_runs(&new, RUNS, 1, &rng);
    new.runs[3].verdict = VERDICT_VIOLATED;
    new.runs[3].broken[METRIC_LOST] = true;
    struct side base_again = {.name = "b"}, new_again = {.name = "a"};
    for (size_t i = 0; i < RUNS; i++) {
        assert_true(side_add(&base_again, &new.runs[i]));
        assert_true(side_add(&new_again, &base.runs[i]));
    }
    assert_int_equal(judge(&base, &new), CHANGE_WORSE);
    // And the other way round: ten times slower, but it loses nothing.
    assert_int_equal(judge(&base_again, &new_again), CHANGE_BETTER);
}

// A machine that stalls once makes a token late, with any collector.
static void one_late_run_may_be_chance(void **state)
{
    (void)state;
    for (size_t late = 0; late <= RUNS; late++) {
        struct side base = {.name = "a"}, new = {.name = "b"};
        struct rng rng;
        rng_init(&rng, 1, 0);
        add_runs(&base, RUNS, 1, &rng);
        add_runs(&new, RUNS, 1, &rng);
        for (size_t i = 0; i < late; i++) {
            new.runs[i].verdict = VERDICT_VIOLATED;
            new.runs[i].broken[METRIC_LATE] = true;
        }
        assert_int_equal(judge(&base, &new), late < 5 ? CHANGE_NONE : CHANGE_WORSE);
    }
}

static void inconclusive_runs_are_left_out(void **state)
{
    struct side base = {.name = "a"}, new = {.name = "b"};
    struct rng rng;

    (void)state;
    rng_init(&rng, 1, 0);
    add_runs(&base, RUNS, 1, &rng);
    add_runs(&new, RUNS, 0.5, &rng);
    for (size_t i = 0; i < 7; i++)
        new.runs[i].verdict = VERDICT_INCONCLUSIVE;
    new.runs[0].broken[METRIC_LOST] = true;
    assert_int_equal(judge(&base, &new), CHANGE_BETTER);
}

static void results_are_read_back(void **state)
{
    const char text[] = "{\"scenario\": \"x\", \"verdict\": \"missed\","
                        " \"metrics\": {\"latency.p50\": 12.5, \"delivered\": 3, \"lost\": null},"
                        " \"broken\": [\"late\", \"unheard-of\"]}";
    const char odd[] = "{\"scenario\": \"a,b\", \"verdict\": \"pass\", \"metrics\": {}}";
    const char vast[] = "{\"scenario\": \"x\", \"verdict\": \"pass\","
                        " \"metrics\": {\"latency.p50\": 1e308}}";
    const char old[] = "{\"scenario\": \"x\", \"verdict\": \"pass\"}";
    struct stored s;
    struct err e;

    (void)state;
    assert_true(stored_parse(&s, text, sizeof text - 1, &e));
    assert_string_equal(s.scenario, "x");
    assert_int_equal(s.verdict, VERDICT_MISSED);
    assert_true(fabs(s.values[METRIC_LATENCY_P50] - 12.5) < 1e-12);
    assert_true(fabs(s.values[METRIC_DELIVERED] - 3) < 1e-12);
    assert_true(isnan(s.values[METRIC_LOST]) && isnan(s.values[METRIC_LATENCY_P99]));
    assert_true(s.broken[METRIC_LATE] && !s.broken[METRIC_LOST]);
    assert_false(stored_parse(&s, old, sizeof old - 1, &e));
    assert_false(stored_parse(&s, odd, sizeof odd - 1, &e));
    assert_false(stored_parse(&s, vast, sizeof vast - 1, &e));
    assert_false(stored_parse(&s, "{", 1, &e));
    assert_int_equal(e.kind, ERR_USAGE);
}

static void put_result(const char *folder)
{
    char path[100];

    snprintf(path, sizeof path, "%s/result.json", folder);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs("{\"scenario\": \"x\", \"verdict\": \"pass\", \"metrics\": {}}", file);
    fclose(file);
}

// One run, with a `latest` beside it, and a link to the whole.
static void links_are_followed_when_named(void **state)
{
    char dir[] = "/tmp/mailproof-compare.XXXXXX";
    struct side s = {0};
    struct err e;

    (void)state;
    assert_non_null(mkdtemp(dir));
    assert_int_equal(chdir(dir), 0);
    assert_int_equal(mkdir("real", 0700), 0);
    assert_int_equal(mkdir("real/run", 0700), 0);
    put_result("real/run");
    assert_int_equal(symlink("run", "real/latest"), 0);
    assert_int_equal(symlink("real", "link"), 0);
    assert_true(collect_runs(&s, "real", &e));
    assert_int_equal(s.count, 1);
    assert_true(collect_runs(&s, "link/", &e));
    assert_true(collect_runs(&s, "link/latest", &e));
    assert_int_equal(s.count, 3);
    assert_false(collect_runs(&s, "none", &e));
    side_fini(&s);
    unlink("link");
    unlink("real/latest");
    unlink("real/run/result.json");
    rmdir("real/run");
    rmdir("real");
    assert_int_equal(chdir("/"), 0);
    assert_int_equal(rmdir(dir), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(planted_slowdowns_are_found),
        cmocka_unit_test(like_with_like_is_no_difference),
        cmocka_unit_test(small_effects_do_not_count),
        cmocka_unit_test(few_runs_say_nothing),
        cmocka_unit_test(correctness_outranks_speed),
        cmocka_unit_test(one_late_run_may_be_chance),
        cmocka_unit_test(inconclusive_runs_are_left_out),
        cmocka_unit_test(results_are_read_back),
        cmocka_unit_test(links_are_followed_when_named),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
