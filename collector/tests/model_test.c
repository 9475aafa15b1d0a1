#include "base/unit.h"
#include "model.h"

#define DEPTH 12

static void holds(const char *name, struct model_rules rules)
{
    struct model_found found = model_explore(&rules, DEPTH);

    print_message("%s: %" PRIu64 " states\n", name, found.states);
    if (found.broken)
        fail_msg("%s: %s: %s", name, found.broken, found.schedule);
}

static void breaks(const char *broken, struct model_rules rules)
{
    struct model_found found = model_explore(&rules, DEPTH);

    assert_non_null(found.broken);
    print_message("%s: %s\n", found.broken, found.schedule);
    assert_string_equal(found.broken, broken);
}

static void every_policy_holds(void **state)
{
    holds("exclusive", (struct model_rules){.exclusive = true, .async = true});
    holds("exclusive, lazy", (struct model_rules){.exclusive = true, .lazy = true});
    holds("shared", (struct model_rules){0});
    holds("answers", (struct model_rules){.answers = true, .async = true});
    holds("budget", (struct model_rules){.budget = true});
    holds("exclusive with budget", (struct model_rules){.exclusive = true, .budget = true});
}

// Two deaths leave rows of two owners, and the later owner's may come first.
static void adoption_in_portions_breaks_the_order(void **state)
{
    breaks("order", (struct model_rules){.exclusive = true, .without = RULE_CLAIM});
}

static void a_number_that_comes_again_loses_a_token(void **state)
{
    breaks("lost", (struct model_rules){.answers = true, .async = true, .without = RULE_KEY});
}

static void a_payment_that_is_adopted_exceeds_the_budget(void **state)
{
    breaks("budget", (struct model_rules){.budget = true, .without = RULE_PAID});
}

// A crash brings the budget back, and with it the token, but not the line.
static void an_asynchronous_payment_exceeds_the_budget(void **state)
{
    breaks("budget", (struct model_rules){.exclusive = true, .budget = true, .async = true});
}

static void without_the_doubt_a_lost_answer_is_a_line_twice(void **state)
{
    breaks("twice", (struct model_rules){.exclusive = true, .async = true, .without = RULE_DOUBT});
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_policy_holds),
        cmocka_unit_test(adoption_in_portions_breaks_the_order),
        cmocka_unit_test(a_number_that_comes_again_loses_a_token),
        cmocka_unit_test(a_payment_that_is_adopted_exceeds_the_budget),
        cmocka_unit_test(an_asynchronous_payment_exceeds_the_budget),
        cmocka_unit_test(without_the_doubt_a_lost_answer_is_a_line_twice),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
