#include "scenario/tests/test_folder.h"

#include "scenario/needs.h"

#define FOUR HEAD "load: [{for: 4s, rate: 10/s, backlog: 10}]\n"

static void load(struct scenario *s, const char *text, const char *collector, double scale)
{
    struct overrides sets = {.collector = collector, .scale = scale};
    struct err e;

    write_file(FILE_NAME, text, strlen(text));
    if (!scenario_load(s, FILE_NAME, &sets, &e))
        fail_msg("%s", e.text);
}

static void the_program_decides_what_auto_means(void **state)
{
    static const struct {
        const char *file, *collector;
        bool reference;
    } cases[] = {
        {FOUR, NULL, true},
        {FOUR, "reference", true},
        {FOUR, "/old/bin/mailroom-collector --x", true},
        {FOUR, "env A=b mailroom-collector", true},
        {FOUR, "./mailroom-collector-of-mine", false},
        {FOUR, "python3 /mailroom-collector/x.py", false},
        {FOUR "collector: {command: [nice, /b/mailroom-collector]}\n", NULL, true},
        {FOUR "collector: {command: [/b/mine]}\n", NULL, false},
        {FOUR "collector: {command: [/b/mine]}\n", "reference", true},
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct scenario s;
        load(&s, cases[i].file, cases[i].collector, 0);
        assert_int_equal(
            s.collector.layout, cases[i].reference ? LAYOUT_REFERENCE : LAYOUT_FOREIGN);
        assert_int_equal(
            s.collector.promises, cases[i].reference ? PROMISES_REFERENCE : PROMISES_FOREIGN);
        scenario_fini(&s);
    }
}

static void what_the_file_says_stays(void **state)
{
    struct scenario s;

    load(&s, FOUR "collector: {layout: reference, promises: []}\n", "mine", 0);
    assert_int_equal(s.collector.layout, LAYOUT_REFERENCE);
    assert_int_equal(s.collector.promises, 0);
    scenario_fini(&s);
}

static void keys_imply_needs(void **state)
{
    static const struct {
        const char *collector;
        int needs;
    } cases[] = {
        {"{}", 0},
        {"{instances: 2}", PROMISE_STANDBY},
        {"{instances: 2, dequeue: shared}", PROMISE_SHARING},
        {"{env: {MAILROOM_DEQUEUE: leased}}", PROMISE_OUTCOME},
        {"{env: {MAILROOM_BUDGET: 40/s}}", PROMISE_BUDGET},
        {"{env: {MAILROOM_LANES: \"activation,password_recovery\"}}", PROMISE_LANES},
        {"{instances: 2, subject: pgq}", PROMISE_SHARING},
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct scenario s;
        struct buf text;
        struct err e;
        buf_init(&text, 1000);
        buf_printf(&text, FOUR "needs: [small]\ncollector: %s\n", cases[i].collector);
        load(&s, buf_str(&text), "mine", 0);
        assert_int_equal(s.needs, PROMISE_SMALL | cases[i].needs);
        assert_false(needs_met(&s, &e));
        assert_int_equal(e.kind, ERR_SKIP);
        s.collector.promises = s.needs;
        assert_true(needs_met(&s, &e));
        scenario_fini(&s);
        buf_fini(&text);
    }
}

static void a_scaled_scenario_keeps_its_periods(void **state)
{
    static const char text[] =
        FOUR "faults: [{at: 1s, every: 500ms, until: 3s, do: kill-collector, for: 400ms}]\n"
             "expect: {collector.deaths: \">= 5\", lost: \"= 0\", latency.p99: \"> 1ms\"}\n";
    struct scenario s;

    load(&s, text, NULL, 0.5);
    assert_int_equal(s.load[0].for_ns, 2000 * NS_PER_MS);
    assert_int_equal(s.load[0].backlog, 5);
    assert_int_equal(s.faults[0].at_ns, 500 * NS_PER_MS);
    assert_int_equal(s.faults[0].until_ns, 1500 * NS_PER_MS);
    assert_int_equal(s.faults[0].every_ns, 500 * NS_PER_MS);
    assert_int_equal(s.faults[0].for_ns, 200 * NS_PER_MS);
    assert_string_equal(s.expect[0].want, ">= 2");
    assert_true(s.expect[0].value == 2 && s.expect[2].value == 1);
    scenario_fini(&s);
    load(&s, text, NULL, 3);
    assert_int_equal(s.load[0].for_ns, 12 * NS_PER_S);
    assert_int_equal(s.faults[0].for_ns, 400 * NS_PER_MS);
    // From 3 s to 9 s there are 13 deaths, and not three times 5.
    assert_string_equal(s.expect[0].want, ">= 5");
    assert_true(s.expect[0].value == 5);
    scenario_fini(&s);
}

// A run stores its scenario with the scaled values, and reads it again when it is judged anew.
static void a_scaled_scenario_can_be_read_again(void **state)
{
    static const struct wrong {
        const char *text, *error;
    } cases[] = {
        {HEAD "load: [{for: 13h, rate: 1/s}]\n",
            "x.yaml:3:14: load.0.for: with --scale this is longer than 24h, the longest phase"},
        {HEAD "load: [{for: 1s, rate: 1/s, backlog: 6000000}]\n",
            "x.yaml:3:38: load.0.backlog: with --scale this is more than 10000000"},
    };
    struct scenario s;
    struct buf text;
    struct err e;

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        write_file(FILE_NAME, cases[i].text, strlen(cases[i].text));
        assert_false(scenario_load(&s, FILE_NAME, &(struct overrides){.scale = 2}, &e));
        assert_string_equal(e.text, cases[i].error);
    }
    load(&s, FOUR "expect: {collector.batches: \"> 2469134\"}\n", NULL, 0.5);
    buf_init(&text, 100000);
    assert_true(scenario_write(&s, &text, &e));
    scenario_fini(&s);
    load(&s, buf_str(&text), NULL, 0);
    assert_true(s.expect[0].value == 1234567);
    scenario_fini(&s);
    buf_fini(&text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_program_decides_what_auto_means),
        cmocka_unit_test(what_the_file_says_stays),
        cmocka_unit_test(keys_imply_needs),
        cmocka_unit_test(a_scaled_scenario_keeps_its_periods),
        cmocka_unit_test(a_scaled_scenario_can_be_read_again),
    };

    return cmocka_run_group_tests_name("harness.promise-needs", tests, enter_folder, leave_folder);
}
