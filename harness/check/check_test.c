// The measured slack, and what findings say. ../story/story_test.c judges the stories.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "base/clock.h"
#include "check/inside.h"
#include "check/story.h"

static void slack_is_measured(void **state)
{
    static struct story s;

    (void)state;
    story_init(&s);
    story_good_token(&s);
    s.scenario.slack_ns = SLACK_AUTO;
    for (int i = 0; i < 100; i++)
        s.probes[i] = (struct probe_sample){
            .due_ns = story_last(&s)->sent_ns + i * NS_PER_MS, .took_ns = (i + 1) * NS_PER_MS / 10};
    s.ledger.probe_count = 100;
    story_judge(&s);
    assert_int_equal(s.result.slack_ns, 50 * NS_PER_MS + (int64_t)5 * 99 * NS_PER_MS / 10);
    story_fini(&s);

    story_init(&s);
    story_good_token(&s);
    s.scenario.slack_ns = SLACK_AUTO;
    story_judge(&s);
    assert_int_equal(s.result.slack_ns, 500 * NS_PER_MS); // the greatest slack, because no probe
                                                          // measured any
    story_fini(&s);
}

// In turn, the token lies before, between and after two faults. The example names the faults next
// to it.
static void an_example_names_the_faults_around(void **state)
{
    static const struct {
        int64_t sent_ms;
        const char *faults;
    } times[] = {
        {50, "; faults: kill-collector 0.100-0.104 s"},
        {2000, "; faults: kill-collector 0.100-0.104 s, kill-collector 2.100-2.200 s"},
        {3000, "; faults: kill-collector 2.100-2.200 s"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof times / sizeof *times; i++) {
        static struct story s;
        char expected[256];
        story_init(&s);
        story_fault(&s, "kill-collector", 100, 104);
        story_fault(&s, "kill-collector", 2100, 2200);
        story_txn(&s, times[i].sent_ms, 1);
        story_judge(&s);
        double sent_s = (double)times[i].sent_ms / 1e3;
        snprintf(expected, sizeof expected,
            "t0000000 (activation): intended at %.3f s, sent %.3f s, committed "
            "%.3f s, not delivered%s",
            sent_s, sent_s, sent_s + 0.001, times[i].faults);
        assert_string_equal(s.result.findings[METRIC_LOST].examples[0], expected);
        story_fini(&s);
    }
}

static void assert_unpromised(int promises, int needs, const char *expect, const char *want)
{
    struct expectation named = {.metric = (char *)expect};
    struct scenario s = {.needs = needs,
        .collector.promises = promises,
        .expect = &named,
        .expect_count = expect != NULL};
    struct buf text;

    buf_init(&text, 2000);
    unpromised_text(&s, &text);
    assert_string_equal(buf_str(&text), want);
    buf_fini(&text);
}

// A report is UTF-8, and a collector may write anything.
static void an_example_quotes_only_characters(void **state)
{
    static struct result r;
    char text[sizeof r.reasons[0] + 10];

    (void)state;
    memset(text, 'x', sizeof text);
    memcpy(text + sizeof r.reasons[0] - 2, "€", sizeof "€");
    finding_add(&r, METRIC_UNPLANNED_EXIT, "ended: %s", "f\xfcr");
    result_reason(&r, "%s", text);
    assert_string_equal(r.findings[METRIC_UNPLANNED_EXIT].examples[0], "ended: f?r");
    assert_string_equal(r.reasons[0] + sizeof r.reasons[0] - 3, "x?");
}

static void an_invariant_without_a_promise_is_named(void **state)
{
    (void)state;
    assert_unpromised(-1, PROMISE_SMALL, NULL, "");
    assert_unpromised(-1, 0, NULL, "busy_idle, leak (not among the scenario's needs: small)");
    assert_unpromised(~PROMISE_SMALL, 0, NULL, "busy_idle, leak (not promised: small)");
    assert_unpromised(~PROMISE_SMALL, 0, "leak", "busy_idle (not promised: small)");
    assert_unpromised(~(PROMISE_SMALL | PROMISE_ORDER), 0, "leak",
        "out_of_order, busy_idle (not promised: order, small)");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(slack_is_measured),
        cmocka_unit_test(an_example_names_the_faults_around),
        cmocka_unit_test(an_example_quotes_only_characters),
        cmocka_unit_test(an_invariant_without_a_promise_is_named),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
