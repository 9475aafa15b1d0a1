// Open transactions, look by look.
#include "postgres/presence.h"

#include "base/unit.h"

static struct presence p;

static int clear(void **state)
{
    presence_fini(&p);
    return 0;
}

static void look(int64_t at_ms)
{
    presence_end_look(&p, &(struct presence_look){.at_ns = at_ms * NS_PER_MS, .sessions = 1});
}

static void sees(const char *key, bool held_up, int64_t at_ms)
{
    presence_add_transaction(&p, key, 7, held_up, at_ms * NS_PER_MS);
}

static void a_transaction_in_two_looks_is_held(void **state)
{
    for (int64_t ms = 1000; ms <= 4000; ms += 1000) {
        sees("7 1 1", false, ms);
        look(ms);
    }
    assert_int_equal(p.look_count, 4);
    assert_int_equal(p.hold_count, 1);
    assert_int_equal(p.holds[0].pid, 7);
    assert_int_equal(p.holds[0].from_ns, NS_PER_S);
    assert_int_equal(p.holds[0].until_ns, 4 * NS_PER_S);
}

static void one_after_the_other_is_not(void **state)
{
    for (int64_t ms = 1000; ms <= 4000; ms += 1000) {
        char key[] = {(char)('0' + ms / 1000), '\0'};
        sees(key, false, ms);
        look(ms);
    }
    assert_int_equal(p.hold_count, 0);
    assert_int_equal(p.open_count, 1);
}

static void looks_closer_than_a_second_are_not_enough(void **state)
{
    sees("a", false, 1000);
    look(1000);
    sees("a", false, 1990);
    look(1990);
    assert_int_equal(p.hold_count, 0);
}

// The transaction waited for a lock at 2 s, so it counts as held open only from then on.
static void waiting_for_a_lock_is_no_holding(void **state)
{
    sees("a", false, 1000);
    look(1000);
    sees("a", true, 2000);
    look(2000);
    sees("a", false, 2500);
    look(2500);
    assert_int_equal(p.hold_count, 0);
    sees("a", false, 3500);
    look(3500);
    assert_int_equal(p.hold_count, 1);
    assert_int_equal(p.holds[0].from_ns, 2 * NS_PER_S);
}

static void a_server_that_was_away_ends_all(void **state)
{
    sees("a", false, 1000);
    look(1000);
    presence_end_look(&p, NULL);
    sees("a", false, 2500);
    look(2500);
    assert_int_equal(p.hold_count, 0);
    assert_int_equal(p.look_count, 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(a_transaction_in_two_looks_is_held, clear),
        cmocka_unit_test_setup(one_after_the_other_is_not, clear),
        cmocka_unit_test_setup(looks_closer_than_a_second_are_not_enough, clear),
        cmocka_unit_test_setup(waiting_for_a_lock_is_no_holding, clear),
        cmocka_unit_test_setup(a_server_that_was_away_ends_all, clear),
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);

    presence_fini(&p);
    return failed;
}
