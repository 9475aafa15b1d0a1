// The measured slack, and what findings say. ../story/story_test.c judges the stories.
#include <math.h>

#include "base/unit.h"
#include "check/inside.h"
#include "story/story.h"

// Reads a story and judges it; story_fini and result_fini release both.
static void judge(struct story *t, struct result *r, const char *text)
{
    struct err e = {0};

    if (!story_read_text(t, text, "test", &e))
        fail_msg("%s", e.text);
    struct check_input in = check_input_of(&t->history);
    check_ledger(r, &t->history.ledger, &in);
}

static void assert_slack(const char *probes, int64_t slack_ns)
{
    static struct story t;
    struct result r;
    char text[2000];

    snprintf(text, sizeof text, "set slack=auto\ntoken 0 at 50\nline at 150: 0\n%s", probes);
    judge(&t, &r, text);
    assert_int_equal(r.slack_ns, slack_ns);
    result_fini(&r);
    story_fini(&t);
}

static void slack_is_measured(void **state)
{
    char probes[2000] = "", *end = probes;

    for (int i = 0; i < 50; i++)
        end += sprintf(end, "probe at %d took %d.%d\n", 50 + i, (i + 1) / 10, (i + 1) % 10);
    // The 99th percentile of 50 probes is the slowest.
    assert_slack(probes, 50 * NS_PER_MS + 5 * (5 * NS_PER_MS));
    // A query that was asked late counts by when it was asked: this one ran into a fault.
    sprintf(end, "probe at 160 stalled 40 took 9\n"
                 "fault {do: pause-server, for: 100ms} struck 203 undone 208\n");
    assert_slack(probes, 50 * NS_PER_MS + 5 * (5 * NS_PER_MS));
    // The greatest slack, because no probe measured any.
    assert_slack("", 500 * NS_PER_MS);
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

    for (size_t i = 0; i < sizeof times / sizeof *times; i++) {
        static struct story t;
        struct result r;
        char expected[256], text[256];
        snprintf(text, sizeof text,
            "fault {do: kill-collector} struck 100 undone 104\n"
            "fault 0 struck 2100 undone 2200\ntoken 0 at %lld\n",
            (long long)times[i].sent_ms);
        judge(&t, &r, text);
        double sent_s = (double)times[i].sent_ms / 1e3;
        snprintf(expected, sizeof expected,
            "t0000000 (activation): intended at %.3f s, sent %.3f s, committed "
            "%.3f s, not delivered%s",
            sent_s, sent_s, sent_s + 0.001, times[i].faults);
        assert_string_equal(r.findings[METRIC_LOST].examples[0], expected);
        result_fini(&r);
        story_fini(&t);
    }
}

// Collectors that share the work return one by one, so the bound is that of the last of them.
static void no_excuse_is_longer_than_its_bound(void **state)
{
    static struct story t;
    struct result r;
    const struct excuse *x = &r.excuses[VERB_KILL_COLLECTOR];

    judge(&t, &r,
        "set collector.dequeue=shared\nset collector.instances=2\n"
        "process 0 until 501 killed\nprocess 1 instance 1 until 501 killed\n"
        "process 2 from 600\nprocess 3 instance 1 from 1200\n"
        "token 0 at 50\nline by 0 at 150: 0\n"
        "fault {do: kill-collector} struck 500 undone 501\n");
    assert_int_equal(x->most_ns, (1200 + 500 - 501) * NS_PER_MS);
    assert_int_equal(x->used_ns, x->most_ns);
    result_fini(&r);
    story_fini(&t);
}

static void assert_rate_achieved(const char *end, double per_s)
{
    static struct story t;
    struct result r;
    char text[200];

    snprintf(text, sizeof text, "token 0-2 at 50\nline at 150: 0-2\n%s", end);
    judge(&t, &r, text);
    assert_true(fabs(r.values[METRIC_RATE_ACHIEVED] - per_s) < 1e-9);
    result_fini(&r);
    story_fini(&t);
}

// The load has 4 s. A run that ends early gives it less, but a fault behind the load gives it no
// more.
static void a_rate_counts_the_time_that_the_load_had(void **state)
{
    assert_rate_achieved("", 3 / 4.0);
    assert_rate_achieved("load until 2000\nrun until 3000 interrupted\n", 3 / 2.0);
    assert_rate_achieved("load until 2000\nrun until 3000 gave-up \"it ended\"\n", 3 / 2.0);
    assert_rate_achieved("load until 6000\nrun interrupted\n", 3 / 4.0);
}

// A queue has jobs, and they have no kind.
static void an_example_of_a_queue_names_a_job(void **state)
{
    static struct story t;
    struct result r;

    judge(&t, &r, "set collector.subject=textbook\ntoken 0 at 1000\n");
    assert_int_equal(
        strncmp(r.findings[METRIC_LOST].examples[0], "job 0: intended", strlen("job 0: intended")),
        0);
    result_fini(&r);
    story_fini(&t);
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

// A report is UTF-8, but a collector may write any bytes, and a text may be cut inside a character.
static void an_example_quotes_only_characters(void **state)
{
    static struct result r;
    char text[sizeof r.reasons[0] + 10];

    memset(text, 'x', sizeof text);
    memcpy(text + sizeof r.reasons[0] - 2, "€", sizeof "€");
    finding_add(&r, METRIC_UNPLANNED_EXIT, "ended: %s", "f\xfcr");
    result_reason(&r, "%s", text);
    assert_string_equal(r.findings[METRIC_UNPLANNED_EXIT].examples[0], "ended: f?r");
    assert_string_equal(r.reasons[0] + sizeof r.reasons[0] - 3, "x?");
}

static void an_invariant_without_a_promise_is_named(void **state)
{
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
        cmocka_unit_test(an_example_of_a_queue_names_a_job),
        cmocka_unit_test(no_excuse_is_longer_than_its_bound),
        cmocka_unit_test(a_rate_counts_the_time_that_the_load_had),
        cmocka_unit_test(an_example_quotes_only_characters),
        cmocka_unit_test(an_invariant_without_a_promise_is_named),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
