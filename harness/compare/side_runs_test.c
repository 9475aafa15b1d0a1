// Tests of stored results: what is read from them, which folders collect_runs finds, and how
// setup_differences compares their scenarios.
#include <math.h>
#include <sys/stat.h>

#include "base/unit.h"
#include "compare/compare.h"

static void scenarios_are_compared_key_by_key(void **state)
{
    static const char a[] = "name: x\nseed: 1\nload:\n  - {rate: 200/s, for: 1s}\n"
                            "collector: {command: [a], batch_limit: 10}\nallow: {}\n";
    static const char b[] =
        "name: x\nseed: 2\ntags: [slow]\nload:\n  - {rate: 300/s, for: 1s}\n  - {for: 2s}\n"
        "collector: {command: [b, c], batch_limit: 10}\n";
    struct buf out;

    buf_init(&out, 1 << 16);
    assert_int_equal(setup_differences(a, sizeof a - 1, a, sizeof a - 1, &out), 0);
    assert_int_equal(out.len, 0);
    assert_int_equal(setup_differences(a, sizeof a - 1, b, sizeof b - 1, &out), 2);
    assert_string_equal(buf_str(&out), "load.0.rate: 200/s in base, 300/s in new; "
                                       "load.1.for: not there in base, 2s in new");
    buf_fini(&out);
}

// A long command differs far behind its beginning.
static void long_values_are_compared_whole(void **state)
{
    char a[600], b[600];
    struct buf out;

    buf_init(&out, 1 << 16);
    int len = snprintf(a, sizeof a, "collector: {env: {LIST: \"%0300d\"}}\n", 1);
    snprintf(b, sizeof b, "collector: {env: {LIST: \"%0300d\"}}\n", 2);
    assert_int_equal(setup_differences(a, (size_t)len, b, (size_t)len, &out), 1);
    buf_fini(&out);
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

    assert_true(stored_parse(&s, text, sizeof text - 1, &e));
    assert_string_equal(s.scenario, "x");
    assert_int_equal(s.verdict, VERDICT_MISSED);
    assert_true(fabs(s.values[METRIC_LATENCY_P50] - 12.5) < 1e-12);
    assert_true(fabs(s.values[METRIC_DELIVERED] - 3) < 1e-12);
    assert_true(isnan(s.values[METRIC_LOST]) && isnan(s.values[METRIC_LATENCY_P99]));
    assert_true(s.broken[METRIC_LATE] && !s.broken[METRIC_LOST]);
    assert_int_equal(s.rules, 1);
    assert_false(stored_parse(&s, old, sizeof old - 1, &e));
    assert_false(stored_parse(&s, odd, sizeof odd - 1, &e));
    assert_false(stored_parse(&s, vast, sizeof vast - 1, &e));
    assert_false(stored_parse(&s, "{", 1, &e));
    assert_int_equal(e.kind, ERR_USAGE);
}

static void the_worst_is_what_loses_mail(void **state)
{
    struct stored run = {.scenario = "x"};

    assert_int_equal(compare_worst(&run), METRIC_COUNT);
    run.broken[METRIC_LATE] = true;
    assert_int_equal(compare_worst(&run), METRIC_LATE);
    run.broken[METRIC_END_STATE] = true;
    assert_int_equal(compare_worst(&run), METRIC_END_STATE);
    run.broken[METRIC_DUPLICATED] = run.broken[METRIC_LOST] = true;
    assert_int_equal(compare_worst(&run), METRIC_LOST);
}

// Writes the result.json of an inconclusive run into the folder; `more` is further JSON for it.
static void put_result(const char *folder, const char *more)
{
    char path[100];

    snprintf(path, sizeof path, "%s/result.json", folder);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fprintf(file, "{\"scenario\": \"x\", \"verdict\": \"inconclusive\", \"metrics\": {}%s}", more);
    fclose(file);
}

// The folder real/ holds one run, and the link `latest` to it. A search in real/ finds the run
// once, not again by the link. A link that the user names is followed.
static void links_are_followed_when_named(void **state)
{
    char dir[] = "/tmp/mailproof-compare.XXXXXX";
    struct side s = {0};
    struct err e;

    assert_non_null(mkdtemp(dir));
    assert_int_equal(chdir(dir), 0);
    assert_int_equal(mkdir("real", 0700), 0);
    assert_int_equal(mkdir("real/run", 0700), 0);
    put_result("real/run", "");
    assert_int_equal(symlink("run", "real/latest"), 0);
    assert_int_equal(symlink("real", "link"), 0);
    assert_true(collect_runs(&s, "real", &e));
    assert_int_equal(s.count, 1);
    assert_true(collect_runs(&s, "link/", &e));
    assert_true(collect_runs(&s, "link/latest", &e));
    assert_int_equal(s.count, 3);
    // A run that a person ended says nothing about its side.
    put_result("real/run", ", \"interrupted\": true");
    assert_true(collect_runs(&s, "real", &e));
    assert_int_equal(s.count, 3);
    assert_int_equal(s.interrupted, 1);
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
        cmocka_unit_test(scenarios_are_compared_key_by_key),
        cmocka_unit_test(long_values_are_compared_whole),
        cmocka_unit_test(results_are_read_back),
        cmocka_unit_test(the_worst_is_what_loses_mail),
        cmocka_unit_test(links_are_followed_when_named),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
