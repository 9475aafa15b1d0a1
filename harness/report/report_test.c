// Parts of a report that need no run.
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>

#include <string.h>

#include "report/report.h"

static void assert_repeats(const char *provider, const char *collector, const char *want)
{
    struct scenario s = {.postgres.provider = (char *)provider};
    struct buf command;

    buf_init(&command, 1000);
    assert_true(report_repeat_of("results/x 1", &s, collector, &command));
    assert_string_equal(buf_str(&command), want);
    buf_fini(&command);
}

// What a shell would split is quoted; where the server was is not known any more.
static void the_command_that_repeats_it(void **state)
{
    (void)state;
    assert_repeats("local", NULL, "mailproof run 'results/x 1'");
    assert_repeats("container", "./mine", "mailproof run 'results/x 1' --collector ./mine");
    assert_repeats(
        "url", "a b's", "mailproof run 'results/x 1' --collector 'a b'\\''s' --postgres CONNINFO");
}

static void what_came_to_no_verdict_is_told(void **state)
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_command_that_repeats_it),
        cmocka_unit_test(what_came_to_no_verdict_is_told),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
