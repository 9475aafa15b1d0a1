#include "timing/bell.h"

#include "base/unit.h"

#define MS NS_PER_MS

static void no_look_is_planned_while_nobody_is_silent(void **state)
{
    struct bell b = {.step = BELL_ASKED};

    bell_answered(&b, 100, 0);
    assert_int_equal(b.step, BELL_OURS);
    bell_looked(&b, "101:101:", 0);
    assert_true(bell_due_ns(&b) == CLOCK_NEVER);
}

// Transactions 100 and 102 were running when transaction 103 took the bell. Transaction 105 began
// later, so it announces its tokens.
static void looks_go_on_until_the_silent_have_ended(void **state)
{
    struct bell b = {.step = BELL_ASKED};
    int64_t at = 0;

    bell_answered(&b, 103, at);
    bell_looked(&b, "100:104:100,102", at);
    for (int64_t every = MS; every < 25 * MS; every *= 2) {
        assert_true(bell_due_ns(&b) == at + every);
        at += every;
        bell_looked(&b, "102:106:102,105", at);
    }
    assert_true(bell_due_ns(&b) == at + 25 * MS);
    bell_looked(&b, "105:107:105", at);
    assert_true(bell_due_ns(&b) == CLOCK_NEVER);
    bell_looked(&b, "105:109:105", at);
    assert_true(bell_due_ns(&b) == CLOCK_NEVER);
}

// Transaction 100 runs, and the server says that it has inserted no token.
static void those_that_inserted_nothing_are_forgotten(void **state)
{
    struct bell b = {.step = BELL_ASKED};

    bell_answered(&b, 103, 0);
    assert_false(bell_should_ask(&b, 0));
    bell_looked(&b, "100:104:100", 0);
    assert_false(bell_should_ask(&b, 0));
    assert_true(bell_should_ask(&b, bell_due_ns(&b)));
    bell_none_silent(&b);
    bell_looked(&b, "100:104:100", bell_due_ns(&b));
    assert_true(bell_due_ns(&b) == CLOCK_NEVER);
    // The bell was asked for anew. An answer to a question about the earlier bell changes nothing.
    b = (struct bell){.step = BELL_ASKED, .silent_below = 7};
    bell_none_silent(&b);
    assert_true(b.silent_below == 7);
}

static void a_taken_bell_is_tried_again(void **state)
{
    struct bell b = {.step = BELL_ASKED};
    int64_t at = 0;

    for (int i = 0; i < 20; i++) {
        b.step = BELL_ASKED;
        bell_answered(&b, 0, at);
        assert_int_equal(b.step, BELL_WANTED);
        bell_looked(&b, "100:100:", at); // without the bell the look proves nothing
        assert_true(bell_due_ns(&b) > at && bell_due_ns(&b) <= at + 1000 * MS);
        at = bell_due_ns(&b);
    }
    bell_answered(&b, 100, at);
    assert_true(bell_due_ns(&b) == CLOCK_NEVER);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_look_is_planned_while_nobody_is_silent),
        cmocka_unit_test(looks_go_on_until_the_silent_have_ended),
        cmocka_unit_test(those_that_inserted_nothing_are_forgotten),
        cmocka_unit_test(a_taken_bell_is_tried_again),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
