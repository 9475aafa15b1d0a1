#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/clock.h"
#include "lease/fill.h"

#define MS NS_PER_MS

static struct fill f;
static int64_t id; // the id of the token that was announced last

static int begin(void **state)
{
    struct err e;

    (void)state;
    id = 0;
    if (!fill_init(&f, 3, 100 * MS, &e))
        return -1;
    fill_restart(&f, 0);
    fill_looking(&f, 0);
    fill_left(&f, 0, 0);
    return 0;
}

static int end(void **state)
{
    (void)state;
    fill_fini(&f);
    return 0;
}

static void announce(int64_t now_ns)
{
    fill_announced(&f, ++id, now_ns);
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
    announce(10 * MS);
    announce(60 * MS);
    assert_true(fill_look_ns(&f) == 110 * MS);
    assert_int_equal(fill_fewest(&f, 109 * MS), 3);
    assert_int_equal(fill_fewest(&f, 110 * MS), 1);
}

static void a_full_line_goes_at_once(void **state)
{
    (void)state;
    for (int i = 0; i < 3; i++)
        announce((10 + i) * MS);
    assert_true(fill_look_ns(&f) <= 12 * MS);
    assert_int_equal(fill_fewest(&f, 12 * MS), 3);
}

// The rest of a backlog has waited already.
static void the_rest_keeps_its_age(void **state)
{
    (void)state;
    for (int i = 0; i < 5; i++)
        announce((10 + 10 * i) * MS);
    fill_looking(&f, 60 * MS);
    fill_took(&f, true, 60 * MS);
    assert_int_equal(fill_look_ns(&f), 0);
    fill_looking(&f, 61 * MS);
    fill_left(&f, 2, 61 * MS);
    assert_true(fill_look_ns(&f) == 140 * MS);
}

// A retry in the full line had no announcement, so one more token is left than the announcements
// say, and it is the youngest.
static void a_full_line_does_not_age_what_it_leaves(void **state)
{
    (void)state;
    for (int i = 0; i < 3; i++)
        announce((10 + i) * MS);
    announce(60 * MS);
    fill_looking(&f, 115 * MS);
    fill_took(&f, true, 115 * MS);
    assert_int_equal(fill_look_ns(&f), 0);
    assert_int_equal(fill_fewest(&f, 116 * MS), 3);
    fill_looking(&f, 116 * MS);
    fill_left(&f, 1, 116 * MS);
    assert_true(fill_look_ns(&f) == 160 * MS);
}

// Lines of a sender that has not answered yet may hold the next look up for long.
static void a_full_line_makes_nothing_due(void **state)
{
    (void)state;
    for (int i = 0; i < 3; i++)
        announce((10 + i) * MS);
    fill_looking(&f, 12 * MS);
    fill_took(&f, true, 12 * MS);
    announce(500 * MS);
    assert_int_equal(fill_fewest(&f, 525 * MS), 3);
    fill_looking(&f, 525 * MS);
    fill_left(&f, 1, 525 * MS);
    assert_true(fill_look_ns(&f) == 600 * MS);
}

static void a_token_announced_during_a_look_is_looked_for(void **state)
{
    (void)state;
    announce(10 * MS);
    fill_looking(&f, 110 * MS);
    announce(111 * MS);
    fill_token(&f, 1, 112 * MS);
    fill_took(&f, false, 112 * MS);
    assert_true(fill_look_ns(&f) == 211 * MS);
}

// The look that took the token saw it before its announcement came. Later tokens have a window of
// their own.
static void an_announcement_during_the_look_that_took_it_opens_no_window(void **state)
{
    (void)state;
    announce(10 * MS);
    fill_looking(&f, 110 * MS);
    announce(111 * MS);
    fill_token(&f, 1, 112 * MS);
    fill_token(&f, 2, 112 * MS);
    fill_took(&f, false, 112 * MS);
    assert_true(fill_look_ns(&f) == CLOCK_NEVER);
    announce(186 * MS);
    assert_int_equal(fill_fewest(&f, 211 * MS), 3);
    assert_true(fill_look_ns(&f) == 286 * MS);
}

static void an_announcement_after_its_line_opens_no_window(void **state)
{
    (void)state;
    announce(10 * MS);
    fill_looking(&f, 110 * MS);
    fill_token(&f, 1, 112 * MS);
    fill_token(&f, 2, 112 * MS);
    fill_took(&f, false, 112 * MS);
    announce(113 * MS); // 2
    assert_true(fill_look_ns(&f) == CLOCK_NEVER);
    announce(188 * MS);
    announce(189 * MS);
    fill_due(&f, 213 * MS);
    assert_int_equal(fill_fewest(&f, 213 * MS), 3);
    fill_looking(&f, 213 * MS);
    fill_left(&f, 2, 213 * MS);
    assert_true(fill_look_ns(&f) == 288 * MS);
}

// After the table was truncated, the same id means another token.
static void a_number_that_comes_again_is_another_token(void **state)
{
    (void)state;
    fill_token(&f, 1, 10 * MS);
    announce(1010 * MS);
    assert_true(fill_look_ns(&f) == 1110 * MS);
}

static void a_waiting_token_is_older_than_one_that_comes_during_the_look(void **state)
{
    (void)state;
    announce(10 * MS);
    fill_looking(&f, 20 * MS);
    announce(21 * MS);
    fill_left(&f, 1, 20 * MS);
    assert_true(fill_look_ns(&f) == 110 * MS);
}

// The server folded the announcement into another, so we know only that the token is younger than
// the last look that left nothing.
static void a_token_without_announcement_is_not_late(void **state)
{
    (void)state;
    announce(50 * MS);
    fill_looking(&f, 60 * MS);
    fill_left(&f, 2, 60 * MS);
    assert_true(fill_look_ns(&f) == 100 * MS);
}

// A look sees a token as soon as it is committed, and its announcement comes a moment later.
static void an_announcement_on_its_way_is_waited_for(void **state)
{
    (void)state;
    fill_looking(&f, 95 * MS);
    fill_left(&f, 1, 96 * MS);
    assert_true(fill_look_ns(&f) == 121 * MS);
    announce(97 * MS);
    assert_true(fill_look_ns(&f) == 197 * MS);
    assert_int_equal(fill_fewest(&f, 196 * MS), 3);
}

// A token that is to be tried again is not announced, however often a look shows it.
static void an_announcement_that_does_not_come_is_waited_for_once(void **state)
{
    (void)state;
    fill_looking(&f, 95 * MS);
    fill_left(&f, 1, 96 * MS);
    fill_looking(&f, 110 * MS);
    fill_left(&f, 1, 111 * MS);
    assert_true(fill_look_ns(&f) == 121 * MS);
    assert_int_equal(fill_fewest(&f, 121 * MS), 1);
}

// The full line took what was not announced.
static void a_full_line_takes_what_was_not_announced(void **state)
{
    (void)state;
    fill_looking(&f, 95 * MS);
    fill_left(&f, 1, 96 * MS);
    fill_looking(&f, 100 * MS);
    fill_took(&f, true, 101 * MS);
    fill_looking(&f, 101 * MS);
    fill_left(&f, 1, 102 * MS);
    assert_true(fill_look_ns(&f) == 127 * MS);
    announce(103 * MS);
    assert_true(fill_look_ns(&f) == 203 * MS);
}

static void an_announcement_does_not_hold_up_what_waited_at_first(void **state)
{
    (void)state;
    fill_restart(&f, 500 * MS);
    announce(500 * MS);
    assert_true(fill_look_ns(&f) <= 500 * MS);
    assert_int_equal(fill_fewest(&f, 500 * MS), 1);
}

static void a_due_retry_is_looked_for(void **state)
{
    (void)state;
    fill_due(&f, 700 * MS);
    fill_due(&f, 900 * MS);
    assert_true(fill_look_ns(&f) == 700 * MS);
    fill_looking(&f, 700 * MS);
    fill_left(&f, 0, 700 * MS);
    assert_true(fill_look_ns(&f) == CLOCK_NEVER);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(at_first_all_goes_out, begin, end),
        cmocka_unit_test_setup_teardown(a_line_that_is_not_full_waits_for_its_first, begin, end),
        cmocka_unit_test_setup_teardown(a_full_line_goes_at_once, begin, end),
        cmocka_unit_test_setup_teardown(the_rest_keeps_its_age, begin, end),
        cmocka_unit_test_setup_teardown(a_full_line_does_not_age_what_it_leaves, begin, end),
        cmocka_unit_test_setup_teardown(a_full_line_makes_nothing_due, begin, end),
        cmocka_unit_test_setup_teardown(a_token_announced_during_a_look_is_looked_for, begin, end),
        cmocka_unit_test_setup_teardown(
            an_announcement_during_the_look_that_took_it_opens_no_window, begin, end),
        cmocka_unit_test_setup_teardown(an_announcement_after_its_line_opens_no_window, begin, end),
        cmocka_unit_test_setup_teardown(a_number_that_comes_again_is_another_token, begin, end),
        cmocka_unit_test_setup_teardown(
            a_waiting_token_is_older_than_one_that_comes_during_the_look, begin, end),
        cmocka_unit_test_setup_teardown(a_token_without_announcement_is_not_late, begin, end),
        cmocka_unit_test_setup_teardown(an_announcement_on_its_way_is_waited_for, begin, end),
        cmocka_unit_test_setup_teardown(
            an_announcement_that_does_not_come_is_waited_for_once, begin, end),
        cmocka_unit_test_setup_teardown(a_full_line_takes_what_was_not_announced, begin, end),
        cmocka_unit_test_setup_teardown(
            an_announcement_does_not_hold_up_what_waited_at_first, begin, end),
        cmocka_unit_test_setup_teardown(a_due_retry_is_looked_for, begin, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
