// Judges every story: the checks find what it names, and nothing else. Each invariant is broken
// alone by one story at least.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "base/clock.h"
#include "check/inside.h"
#include "check/stories.h"

static const struct story_cases *const groups[] = {&stories_tokens, &stories_lines, &stories_timing,
    &stories_machine, &stories_repeats, &stories_processes, &stories_vitals, &stories_causes,
    &stories_several, &stories_sharing, &stories_capacity, &stories_outcome, &stories_lanes,
    &stories_budget, &stories_verdicts};

#define GROUPS (sizeof groups / sizeof *groups)

static void list_broken(const struct result *r, char *out, size_t size)
{
    size_t len = 0;

    out[0] = '\0';
    for (enum metric_id id = 0; id < METRIC_COUNT; id++) {
        if (r->broken[id])
            len += (size_t)snprintf(out + len, size - len, "%s=%llu ", metrics[id].name,
                (unsigned long long)r->findings[id].count);
    }
}

static bool judge(const struct story_case *c)
{
    static struct story s;
    char broken[256];
    bool right = true;

    story_init(&s);
    c->tell(&s);
    story_judge(&s);
    list_broken(&s.result, broken, sizeof broken);
    if (strcmp(broken, c->broken) != 0 || s.result.verdict != c->verdict) {
        print_error("%s: '%s' %s instead of '%s' %s; %s\n", c->name, broken,
            verdict_name(s.result.verdict), c->broken, verdict_name(c->verdict),
            s.result.reasons[0]);
        right = false;
    }
    story_fini(&s);
    return right;
}

static void each_case(void **state)
{
    bool right = true;

    (void)state;
    for (size_t group = 0; group < GROUPS; group++) {
        for (size_t i = 0; i < groups[group]->count; i++)
            right = judge(&groups[group]->cases[i]) && right;
    }
    assert_true(right);
}

// Counts the invariants in doubt, none of which a run may pass with.
static size_t count_doubted(const struct story_case *c)
{
    static struct story s;
    size_t count = 0;

    story_init(&s);
    c->tell(&s);
    story_judge(&s);
    for (enum metric_id id = 0; id < METRIC_COUNT; id++)
        count += s.result.doubted[id];
    if (count > 0)
        assert_int_not_equal(s.result.verdict, VERDICT_PASS);
    story_fini(&s);
    return count;
}

static void no_run_passes_in_doubt(void **state)
{
    size_t doubted = 0;

    (void)state;
    for (size_t group = 0; group < GROUPS; group++) {
        for (size_t i = 0; i < groups[group]->count; i++)
            doubted += count_doubted(&groups[group]->cases[i]);
    }
    assert_int_not_equal(doubted, 0);
}

static bool convicts_alone(const struct story_cases *stories, const char *invariant)
{
    size_t len = strlen(invariant);

    for (size_t i = 0; i < stories->count; i++) {
        const char *broken = stories->cases[i].broken;
        if (strncmp(broken, invariant, len) == 0 && broken[len] == '=' &&
            strchr(broken, ' ')[1] == '\0')
            return true;
    }
    return false;
}

static void each_invariant_is_convicted_alone(void **state)
{
    (void)state;
    for (enum metric_id id = 0; id < METRIC_COUNT; id++) {
        bool alone = !metrics[id].invariant;
        for (size_t group = 0; group < GROUPS && !alone; group++)
            alone = convicts_alone(groups[group], metrics[id].name);
        if (!alone)
            fail_msg("no story breaks %s alone", metrics[id].name);
    }
}

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
            "t0000000@mailproof.invalid (activation): intended at %.3f s, sent %.3f s, committed "
            "%.3f s, not delivered%s",
            sent_s, sent_s, sent_s + 0.001, times[i].faults);
        assert_string_equal(s.result.findings[METRIC_LOST].examples[0], expected);
        story_fini(&s);
    }
}

static void assert_unpromised(int promises, const char *expect, const char *want)
{
    struct expectation named = {.metric = (char *)expect};
    struct scenario s = {
        .collector.promises = promises, .expect = &named, .expect_count = expect != NULL};
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
    assert_unpromised(-1, NULL, "");
    assert_unpromised(
        ~PROMISE_SMALL, NULL, "busy_idle, leak (collector.promises leaves out small)");
    assert_unpromised(~PROMISE_SMALL, "leak", "busy_idle (collector.promises leaves out small)");
    assert_unpromised(~(PROMISE_SMALL | PROMISE_ORDER), "leak",
        "out_of_order, busy_idle (collector.promises leaves out order, small)");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_case),
        cmocka_unit_test(no_run_passes_in_doubt),
        cmocka_unit_test(each_invariant_is_convicted_alone),
        cmocka_unit_test(slack_is_measured),
        cmocka_unit_test(an_example_names_the_faults_around),
        cmocka_unit_test(an_example_quotes_only_characters),
        cmocka_unit_test(an_invariant_without_a_promise_is_named),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
