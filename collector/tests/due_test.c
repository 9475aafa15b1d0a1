#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>

#include "lease/due.h"

#include "base/clock.h"

static void a_look_that_leaves_tokens_does_not_count(void **state)
{
    (void)state;
    struct due d;

    due_restart(&d);
    assert_int_equal(due_since_ms(&d, 100 * NS_PER_S), -1);
    due_looked(&d, false, 100 * NS_PER_S);
    assert_int_equal(due_since_ms(&d, 101 * NS_PER_S), -1);
    due_looked(&d, true, 101 * NS_PER_S);
    // Ten looks that find too few for a line: each goes back to the one that left nothing.
    for (int i = 1; i <= 10; i++) {
        assert_int_equal(due_since_ms(&d, (101 + i) * NS_PER_S), 1000 * i + 10000);
        due_looked(&d, false, (101 + i) * NS_PER_S);
    }
}

// The looks in between leave nothing, and yet everything is looked at after 30 s.
static void everything_is_looked_at_under_traffic(void **state)
{
    (void)state;
    struct due d;
    int all = 0;

    due_restart(&d);
    for (int s = 0; s < 95; s++) {
        all += due_since_ms(&d, s * NS_PER_S) < 0;
        due_looked(&d, true, s * NS_PER_S);
    }
    assert_int_equal(all, 4); // at 0, 30, 60 and 90 s
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_look_that_leaves_tokens_does_not_count),
        cmocka_unit_test(everything_is_looked_at_under_traffic),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
