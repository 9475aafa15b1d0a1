#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>

#include "budget.h"

#include "base/clock.h"

#define MS NS_PER_MS

static void what_is_paid_for_is_used_once(void **state)
{
    (void)state;
    struct budget b = {0};

    assert_int_equal(budget_held(&b, 0), 0);
    budget_asked(&b, 100 * MS);
    budget_answered(&b, 5, 0, 100 * MS);
    assert_int_equal(budget_held(&b, 100 * MS), 5);
    budget_used(&b, 3);
    assert_int_equal(budget_held(&b, 100 * MS), 2);
    budget_used(&b, 10); // a line that was paid for in a session before this one
    assert_int_equal(budget_held(&b, 100 * MS), 0);
}

// Whatever is added to it, nothing is held for longer than the moment.
static void what_is_not_used_soon_is_lost(void **state)
{
    (void)state;
    struct budget b = {0};

    budget_asked(&b, 100 * MS);
    budget_answered(&b, 5, 0, 100 * MS);
    assert_int_equal(budget_held(&b, 350 * MS), 5);
    budget_asked(&b, 350 * MS);
    budget_answered(&b, 2, 0, 350 * MS);
    assert_int_equal(budget_held(&b, 350 * MS), 7);
    assert_int_equal(budget_held(&b, 351 * MS), 0);
    budget_asked(&b, 400 * MS);
    budget_answered(&b, 4, 0, 400 * MS);
    assert_int_equal(budget_held(&b, 650 * MS), 4);
    assert_int_equal(budget_held(&b, 651 * MS), 0);
}

static void a_slow_network_has_longer(void **state)
{
    (void)state;
    struct budget b = {0};

    budget_asked(&b, 0);
    budget_answered(&b, 5, 0, 300 * MS);
    assert_int_equal(budget_held(&b, 1750 * MS), 5);
    assert_int_equal(budget_held(&b, 1751 * MS), 0);
    budget_asked(&b, 2000 * MS);
    budget_answered(&b, 5, 0, 6000 * MS);
    assert_int_equal(budget_held(&b, 8000 * MS), 5);
    assert_int_equal(budget_held(&b, 8001 * MS), 0);
}

static void a_spent_budget_says_until_when(void **state)
{
    (void)state;
    struct budget b = {0};

    budget_asked(&b, 100 * MS);
    budget_answered(&b, 3, 0, 100 * MS);
    budget_answered(&b, 0, 25, 110 * MS);
    assert_int_equal(b.spent_until_ns, 135 * MS);
    assert_int_equal(budget_held(&b, 110 * MS), 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_paid_for_is_used_once),
        cmocka_unit_test(what_is_not_used_soon_is_lost),
        cmocka_unit_test(a_slow_network_has_longer),
        cmocka_unit_test(a_spent_budget_says_until_when),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
