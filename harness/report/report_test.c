// Parts of a report that need no run.
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>

#include <string.h>

#include "base/clock.h"
#include "report/charts.h"

static void assert_repeats(const char *provider, const char *collector, const char *want)
{
    struct scenario s = {.postgres.provider = (char *)provider};
    struct buf command;

    buf_init(&command, 1000);
    assert_true(report_repeat_of("results/x 1", &s, collector, &command));
    assert_string_equal(buf_str(&command), want);
    buf_fini(&command);
}

// Words that a shell would split are quoted. The server's address is not kept, so the
// command has a placeholder for it.
static void the_command_that_repeats_it(void **state)
{
    (void)state;
    assert_repeats("local", NULL, "mailproof run 'results/x 1'");
    assert_repeats("container", "./mine", "mailproof run 'results/x 1' --collector ./mine");
    assert_repeats(
        "url", "a b's", "mailproof run 'results/x 1' --collector 'a b'\\''s' --postgres CONNINFO");
}

static void a_run_without_a_verdict_is_told(void **state)
{
    struct buf suites, document;

    (void)state;
    buf_init(&suites, 10000);
    buf_init(&document, 10000);
    assert_true(report_junit_skipped("a", "no <disk>", &suites));
    assert_true(report_junit_failed("b", "the server did not start", &suites));
    assert_true(report_junit_document(&suites, &document));
    const char *text = buf_str(&document);
    assert_non_null(strstr(
        text, "<testsuite name=\"a\" tests=\"1\" failures=\"0\" errors=\"0\" skipped=\"1\""));
    assert_non_null(strstr(text, "<skipped message=\"no &lt;disk&gt;\"></skipped>"));
    assert_non_null(strstr(
        text, "<testsuite name=\"b\" tests=\"1\" failures=\"0\" errors=\"1\" skipped=\"0\""));
    assert_non_null(strstr(text, "<error message=\"the server did not start\"></error>"));
    buf_fini(&suites);
    buf_fini(&document);
}

// A closed loop has no intended times, so its curve starts from the commit.
static void percentiles_of_a_closed_loop(void **state)
{
    struct result r = {0};
    struct err e;

    (void)state;
    assert_true(histogram_init(&r.from_intended, NS_PER_S, &e));
    assert_true(histogram_init(&r.from_commit, NS_PER_S, &e));
    for (int64_t i = 1; i <= 100; i++)
        assert_true(histogram_record(&r.from_commit, i * NS_PER_MS));
    json_t *columns = charts_percentiles(&r);
    const json_t *commit = json_object_get(columns, "from_commit");
    const json_t *intended = json_object_get(columns, "from_intended");
    assert_int_equal(json_array_size(commit), 41); // two nines, twenty steps each, and 0
    assert_true(json_real_value(json_array_get(commit, 20)) > 89);
    assert_int_equal(json_array_size(intended), 41);
    assert_true(json_is_null(json_array_get(intended, 20)));
    json_decref(columns);
    histogram_fini(&r.from_intended);
    histogram_fini(&r.from_commit);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_command_that_repeats_it),
        cmocka_unit_test(a_run_without_a_verdict_is_told),
        cmocka_unit_test(percentiles_of_a_closed_loop),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
