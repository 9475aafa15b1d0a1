#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/clock.h"
#include "lease/fill.h"

#define MS NS_PER_MS

static struct fill f;

static int begin(void **state)
{
    struct err e;

    (void)state;
    if (!fill_init(&f, 3, 100 * MS, &e))
        return -1;
    fill_restart(&f, 0);
    fill_looking(&f, 0);
    fill_left(&f, 0);
    return 0;
}

static int end(void **state)
{
    (void)state;
    fill_fini(&f);
    return 0;
}

static void at_first_all_goes_out(void **state)
{
    (void)state;
    fill_restart(&f, 500 * MS);
    assert_true(fill_look_ns(&f) <= 500 * MS);
    assert_int_equal(fill_fewest(&f, 500 * MS), 1);
}

static void a_line_that_is_not_full_waits_for_its_first(void **state)
{
    (void)state;
    assert_true(fill_look_ns(&f) == CLOCK_NEVER);
    fill_announced(&f, 10 * MS);
    fill_announced(&f, 60 * MS);
    assert_true(fill_look_ns(&f) == 110 * MS);
    assert_int_equal(fill_fewest(&f, 109 * MS), 3);
    assert_int_equal(fill_fewest(&f, 110 * MS), 1);
}

static void a_full_line_goes_at_once(void **state)
{
    (void)state;
    for (int i = 0; i < 3; i++)
        fill_announced(&f, (10 + i) * MS);
    assert_true(fill_look_ns(&f) <= 12 * MS);
    assert_int_equal(fill_fewest(&f, 12 * MS), 3);
}

// The rest of a backlog has waited already.
static void what_is_left_keeps_its_age(void **state)
{
    (void)state;
    for (int i = 0; i < 5; i++)
        fill_announced(&f, (10 + 10 * i) * MS);
    fill_looking(&f, 60 * MS);
    fill_took(&f, true);
    assert_int_equal(fill_look_ns(&f), 0);
    fill_looking(&f, 61 * MS);
    fill_left(&f, 2);
    assert_true(fill_look_ns(&f) == 140 * MS);
}

// A retry in the full line has had no announcement: one more is left than seems to be, and it
// is the youngest.
static void a_full_line_does_not_age_what_it_leaves(void **state)
{
    (void)state;
    for (int i = 0; i < 3; i++)
        fill_announced(&f, (10 + i) * MS);
    fill_announced(&f, 60 * MS);
    fill_looking(&f, 115 * MS);
    fill_took(&f, true);
    assert_int_equal(fill_look_ns(&f), 0);
    assert_int_equal(fill_fewest(&f, 116 * MS), 3);
    fill_looking(&f, 116 * MS);
    fill_left(&f, 1);
    assert_true(fill_look_ns(&f) == 160 * MS);
}

static void what_is_announced_during_a_look_is_looked_for(void **state)
{
    (void)state;
    fill_announced(&f, 10 * MS);
    fill_looking(&f, 110 * MS);
    fill_announced(&f, 111 * MS);
    fill_took(&f, false);
    assert_true(fill_look_ns(&f) == 211 * MS);
    // It was in that line: the look finds nothing, and none follows.
    fill_looking(&f, 211 * MS);
    fill_left(&f, 0);
    assert_true(fill_look_ns(&f) == CLOCK_NEVER);
}

// An announcement that was folded into another: the token is younger than the
// last look that left nothing.
static void what_was_not_announced_is_not_late(void **state)
{
    (void)state;
    fill_announced(&f, 50 * MS);
    fill_looking(&f, 60 * MS);
    fill_left(&f, 2);
    assert_true(fill_look_ns(&f) == 100 * MS);
}

static void what_is_due_is_looked_for(void **state)
{
    (void)state;
    fill_due(&f, 700 * MS);
    fill_due(&f, 900 * MS);
    assert_true(fill_look_ns(&f) == 700 * MS);
    fill_looking(&f, 700 * MS);
    fill_left(&f, 0);
    assert_true(fill_look_ns(&f) == CLOCK_NEVER);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(at_first_all_goes_out, begin, end),
        cmocka_unit_test_setup_teardown(a_line_that_is_not_full_waits_for_its_first, begin, end),
        cmocka_unit_test_setup_teardown(a_full_line_goes_at_once, begin, end),
        cmocka_unit_test_setup_teardown(what_is_left_keeps_its_age, begin, end),
        cmocka_unit_test_setup_teardown(a_full_line_does_not_age_what_it_leaves, begin, end),
        cmocka_unit_test_setup_teardown(what_is_announced_during_a_look_is_looked_for, begin, end),
        cmocka_unit_test_setup_teardown(what_was_not_announced_is_not_late, begin, end),
        cmocka_unit_test_setup_teardown(what_is_due_is_looked_for, begin, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
