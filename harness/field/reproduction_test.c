#include "base/unit.h"
#include "field/reproduction.h"

// A busy machine kept the run from judging `unrecovered`, while it judged that a process had ended:
// the finding is about the first, so the run neither shows nor clears it.
static void a_count_in_doubt_accuses_nobody(void **state)
{
    char *breaks[] = {"unrecovered", NULL, NULL}, says[] = FINDING_NONE, text[80] = "not seen";
    struct field_finding f = {.breaks = breaks, .says = says};
    struct run_outcome outcome = {.verdict = VERDICT_VIOLATED};
    json_t *figures = json_pack("{s:i, s:i}", "unrecovered", 5, "unplanned_exit", 4);

    assert_int_equal(finding_shown(&f, &outcome, figures, text, sizeof text), SHOWN_FINDING);
    assert_string_equal(text, "seen, unrecovered 5");
    outcome.doubted[METRIC_UNRECOVERED] = true;
    assert_int_equal(finding_shown(&f, &outcome, figures, text, sizeof text), SHOWN_DOUBT);
    breaks[0] = "unplanned_exit";
    assert_int_equal(finding_shown(&f, &outcome, figures, text, sizeof text), SHOWN_FINDING);
    // The next count, which is not in doubt, shows the finding all the same.
    breaks[0] = "unrecovered";
    breaks[1] = "unplanned_exit";
    assert_int_equal(finding_shown(&f, &outcome, figures, text, sizeof text), SHOWN_FINDING);
    assert_string_equal(text, "seen, unplanned_exit 4");
    breaks[0] = "lost";
    breaks[1] = NULL;
    assert_int_equal(finding_shown(&f, &outcome, figures, text, sizeof text), SHOWN_NOTHING);
    outcome.verdict = VERDICT_INCONCLUSIVE;
    assert_int_equal(finding_shown(&f, &outcome, figures, text, sizeof text), SHOWN_DOUBT);
    json_decref(figures);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_count_in_doubt_accuses_nobody)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
