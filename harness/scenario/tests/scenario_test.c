// Scenarios are read, completed, overridden and written again.
#include "scenario/metric.h"
#include "scenario/scenario.h"
#include "scenario/tests/test_folder.h"
#include "scenario/trace.h"

static void load_good(struct scenario *s, const char *path, struct overrides sets)
{
    struct err e = {0};

    if (!scenario_load(s, path, &sets, &e))
        fail_msg("%s", e.text);
}

static void overrides_change_and_add(void **state)
{
    static const char *const items[] = {"load.0.hold_open={share: 0.05, for: 50ms}",
        "load.1={for: 1s, rate: 5/s}", "load.1.connections=3", "collector.batch_limit=7",
        "faults.0.at=1s", "faults.0.do=kill-collector", "expect.latency.p99=>= 1ms",
        "postgres.settings.auto_explain.log_min_duration=0", "seed=9"};
    struct scenario s;

    write_file(FILE_NAME, HEAD LOAD, strlen(HEAD LOAD));
    load_good(
        &s, FILE_NAME, (struct overrides){.items = items, .count = sizeof items / sizeof *items});
    assert_true(s.load[0].hold_share == 0.05);
    assert_int_equal(s.load[0].hold_for_ns, 50 * NS_PER_MS);
    assert_int_equal(s.load_count, 2);
    assert_int_equal(s.load[1].connections, 3);
    assert_int_equal(s.collector.batch_limit, 7);
    assert_int_equal(s.fault_count, 1);
    assert_int_equal(s.faults[0].verb->id, VERB_KILL_COLLECTOR);
    assert_int_equal(s.faults[0].instance, -1);
    assert_string_equal(s.expect[0].metric, "latency.p99");
    assert_string_equal(s.expect[0].comparison, ">=");
    assert_string_equal(s.postgres.settings.items[0].name, "auto_explain.log_min_duration");
    assert_int_equal(s.seed, 9);
    scenario_fini(&s);
}

static void fills_in_defaults(void **state)
{
    struct scenario s;

    write_file(FILE_NAME, HEAD LOAD, strlen(HEAD LOAD));
    load_good(&s, FILE_NAME, (struct overrides){0});
    assert_int_equal(s.seed, 1);
    assert_null(s.tags[0]);
    assert_string_equal(s.postgres.provider, "local");
    assert_int_equal(s.postgres.schema, SCHEMA_LATEST);
    assert_int_equal(s.postgres.durability, DURABILITY_PROVE);
    assert_null(s.collector.command);
    assert_int_equal(s.collector.instances, 1);
    assert_int_equal(s.collector.batch_limit, 10);
    assert_int_equal(s.collector.batch_timeout_ns, 5 * NS_PER_S);
    assert_true(s.collector.restart);
    assert_string_equal(s.load[0].name, "phase-1");
    assert_int_equal(s.load[0].arrivals, ARRIVALS_POISSON);
    assert_int_equal(s.load[0].connections, 8);
    assert_int_equal(s.load[0].rows_to, 1);
    assert_int_equal(s.drain_ns, 10 * NS_PER_S);
    assert_int_equal(s.rest_ns, 300 * NS_PER_MS);
    assert_int_equal(s.recovery_limit_ns, 5 * NS_PER_S);
    assert_int_equal(s.slack_ns, SLACK_AUTO);
    assert_int_equal(scenario_load_ns(&s), 20 * NS_PER_S);
    scenario_fini(&s);
}

// A scenario with every key that this version knows. Hardly any of them has its default.
static const char full[] =
    "name: x\n"
    "summary: \"Quotes \\\" and \\\\ and \xc3\xa4 survive.\"\n"
    "tags: [fault, quick]\n"
    "seed: 9007199254740991\n"
    "postgres:\n"
    "  provider: local\n"
    "  schema: 1\n"
    "  settings: {synchronous_commit: \"on\", work_mem: 4MB}\n"
    "  storage: crashable\n"
    "  durability: waive\n"
    "  standby: none\n"
    "collector:\n"
    "  command: [/bin/sh, -c, \"exec x\\ty\", \"\", \"\\N\\L\\u0080\\n\\U0001F600\"]\n"
    "  layout: foreign\n"
    "  instances: 2\n"
    "  batch_limit: 500\n"
    "  batch_timeout: 100ms\n"
    "  env: {MAILROOM_GRACE: 100}\n"
    "  restart: false\n"
    "  promises: [no_loss, order]\n"
    "  memory: collected\n"
    "  writes: [accounts.email, tokens.consumed_at]\n"
    "  capacity: 2000.5/s\n"
    "  sender: {hang: 1%, dies: 0.5%, delay: 1ms..2ms}\n"
    "load:\n"
    "  - name: up\n"
    "    for: 1.5s\n"
    "    rate: 100/s..2000.5/s\n"
    "    arrivals: constant\n"
    "    connections: 3\n"
    "    rows_per_transaction: 1..100\n"
    "    recovery: 0.2\n"
    "    rollback: 0.02\n"
    "    hold_open: {share: 0.05, for: 50ms}\n"
    "    ineligible: 0.03\n"
    "    unsendable: 0.01\n"
    "    names: hostile\n"
    "    insert: upsert\n"
    "    backlog: 1000\n"
    "    ids_from: 2147482648\n"
    "    changes: {consume: 0.1, suspend: 0.2, reactivate: 0.3, expire: 0.15, delete: 0.25}\n"
    "  - {for: 10s, rate: 0/s}\n"
    "  - {for: 10s, rate: max}\n"
    "  - {name: again, for: 10s, arrivals: trace, file: recorded.csv}\n"
    "faults:\n"
    "  - {at: 1s, every: 300ms, until: 9s, do: terminate-backend, target: all}\n"
    "  - {at: 2s, every: 2s, do: pause-collector, instance: 1, for: 100ms}\n"
    "  - {at: 0s, do: crash-server}\n"
    "  - {at: 2s, do: kill-collector, instance: 1, for: rest}\n"
    "  - {at: 2s, every: 100ms, do: pause-collector, for: 50ms, jitter: 50ms}\n"
    "  - {at: 1s, do: cut-at, message: server CommandComplete UPDATE, n: 3, side: after}\n"
    "  - {at: 1s, do: delay, by: 5ms, jitter: 1ms, for: 100ms}\n"
    "  - {at: 1s, do: throttle, rate: 2.5kB/s, for: 100ms}\n"
    "  - {at: 1s, do: half-open, direction: to-server, reset: true, for: 100ms}\n"
    "  - {at: 1s, do: hold-horizon, prepared: true, database: other, for: 100ms}\n"
    "  - {at: 1s, do: fill-notify-queue, to: 2.5%, for: 100ms}\n"
    "drain: 1s\n"
    "rest: 2s\n"
    "recovery_limit: 2s\n"
    "slack: 70ms\n"
    "allow: {vanished: any, lost: 3}\n"
    "judged: {late: 70%, early: 0.25}\n"
    "expect: {duplicated: \"= 0\", latency.p99: \"< 1s\", collector.cpu_s: \"<= 500ms\",\n"
    "  rate.delivered: \">= 100/s\"}\n"
    "counterparts:\n"
    "  - {collector: mailroom-zoo --defect late, breaks: [late, latency.p99]}\n"
    "  - {set: [\"slack=1s\", \"load.0.for=3s\"], breaks: [lost]}\n";

static const char recorded[] = "# seconds, what came\n0\n1.25,order\n\n9.999999999\r\n";

static void reads_a_full_scenario(void **state)
{
    struct scenario s;

    write_file("recorded.csv", recorded, strlen(recorded));
    write_file(FILE_NAME, full, strlen(full));
    load_good(&s, FILE_NAME, (struct overrides){0});
    assert_true(s.load[0].rows_from == 1 && s.load[0].rows_to == 100);
    assert_true(s.load[2].closed && !s.load[1].closed);
    assert_int_equal(s.load[3].trace_count, 3);
    assert_int_equal(s.load[3].trace_ns[1], 1250 * NS_PER_MS);
    assert_string_equal(s.load[3].file, "arrivals-again.csv");
    assert_string_equal(s.summary, "Quotes \" and \\ and \xc3\xa4 survive.");
    assert_string_equal(s.tags[1], "quick");
    assert_int_equal(s.postgres.schema, 1);
    assert_int_equal(s.postgres.settings.count, 2);
    assert_string_equal(s.postgres.settings.items[0].value, "on");
    assert_int_equal(s.postgres.durability, DURABILITY_WAIVE);
    assert_string_equal(s.collector.command[2], "exec x\ty");
    assert_string_equal(s.collector.command[4], "\xc2\x85\xe2\x80\xa8\xc2\x80\n\xf0\x9f\x98\x80");
    assert_null(s.collector.command[5]);
    assert_int_equal(s.collector.layout, LAYOUT_FOREIGN);
    assert_false(s.collector.restart);
    assert_int_equal(s.collector.promises, PROMISE_NO_LOSS | PROMISE_ORDER);
    assert_int_equal(s.collector.memory, MEMORY_COLLECTED);
    assert_string_equal(s.collector.writes[1], "tokens.consumed_at");
    assert_true(s.collector.capacity == 2000.5);
    assert_true(s.collector.sender.hang == 0.01);
    assert_true(s.collector.sender.dies == 0.005);
    assert_string_equal(s.judged[0].invariant, "late");
    assert_true(s.judged[0].share == 0.7 && s.judged[1].share == 0.25);
    assert_true(s.load[0].rate_from == 100 && s.load[0].rate_to == 2000.5);
    assert_int_equal(s.load[0].for_ns, 1500 * NS_PER_MS);
    assert_string_equal(s.load[1].name, "phase-2");
    assert_true(s.load[0].names == NAMES_HOSTILE && s.load[1].names == NAMES_PLAIN);
    assert_true(s.load[0].insert == INSERT_UPSERT && s.load[1].insert == INSERT_ROW);
    assert_true(s.load[0].backlog == 1000 && s.load[1].backlog == 0);
    assert_true(s.load[0].delete == 0.25 && s.load[1].delete == 0);
    assert_int_equal(s.faults[0].target, TARGET_ALL);
    assert_int_equal(s.faults[0].until_ns, 9 * NS_PER_S);
    assert_int_equal(s.faults[1].until_ns, 31500 * NS_PER_MS);
    assert_int_equal(s.faults[1].instance, 1);
    assert_int_equal(s.faults[2].every_ns, 0);
    assert_int_equal(s.faults[3].for_ns, FOR_REST);
    assert_int_equal(s.faults[4].jitter_ns, 50 * NS_PER_MS);
    assert_int_equal(s.slack_ns, 70 * NS_PER_MS);
    assert_true(s.allow[0].most == INT64_MAX && s.allow[1].most == 3);
    assert_true(s.expect[1].value == 1000);
    assert_true(s.expect[2].value == 0.5);
    assert_string_equal(s.expect[3].want, ">= 100/s");
    scenario_fini(&s);
}

// Checks that a scenario which is read, written, read again and written again gives the same bytes
// both times.
static void check_round_trip(const char *path)
{
    struct scenario first, second;
    struct buf one, two;
    struct err e;

    buf_init(&one, 100000);
    buf_init(&two, 100000);
    load_good(&first, path, (struct overrides){0});
    assert_true(scenario_write(&first, &one, &e));
    for (size_t i = 0; i < first.load_count; i++) {
        struct buf times;
        buf_init(&times, 1000);
        assert_true(trace_write(&first.load[i], &times));
        if (first.load[i].file)
            write_file(first.load[i].file, times.data, times.len);
        buf_fini(&times);
    }
    write_file("scenario.yaml", one.data, one.len);
    load_good(&second, "scenario.yaml", (struct overrides){0});
    assert_true(scenario_write(&second, &two, &e));
    assert_string_equal(buf_str(&one), buf_str(&two));
    scenario_fini(&first);
    scenario_fini(&second);
    buf_fini(&one);
    buf_fini(&two);
}

// A load of two days, with faults up to its end.
static const char long_load[] = HEAD "load:\n  - {for: 24h, rate: 1/s}\n  - {for: 24h, rate: 1/s}\n"
                                     "faults:\n  - {at: 0s, every: 1h, do: reset}\n"
                                     "  - {at: 47h, do: reset}\n";

static void writes_what_it_reads(void **state)
{
    static const char *const shipped[] = {"steady", "backend-kill-storm", "server-crash",
        "collector-killed", "late-commits", "promise-limit"};
    char path[4096];

    write_file(FILE_NAME, HEAD LOAD, strlen(HEAD LOAD));
    check_round_trip(FILE_NAME);
    write_file(FILE_NAME, full, strlen(full));
    check_round_trip(FILE_NAME);
    write_file(FILE_NAME, long_load, strlen(long_load));
    check_round_trip(FILE_NAME);
    for (size_t i = 0; i < sizeof shipped / sizeof *shipped; i++) {
        snprintf(path, sizeof path, "%s/%s.yaml", SCENARIOS_DIR, shipped[i]);
        check_round_trip(path);
    }
}

// An option may choose a provider that the scenario is not made for. That run is skipped, and the
// copy in its result folder can be read again.
static void an_option_may_choose_any_provider(void **state)
{
    static const char text[] = HEAD LOAD "postgres: {standby: sync}\n";
    static const char *const items[] = {"postgres.provider=container"};
    struct scenario s;
    struct buf kept;
    struct err e;

    write_file(FILE_NAME, text, strlen(text));
    load_good(&s, FILE_NAME, (struct overrides){.items = items, .count = 1});
    buf_init(&kept, 100000);
    assert_true(scenario_write(&s, &kept, &e));
    scenario_fini(&s);
    write_file("scenario.yaml", kept.data, kept.len);
    buf_fini(&kept);
    load_good(&s, "scenario.yaml", (struct overrides){0});
    assert_string_equal(s.postgres.provider, "container");
    assert_int_equal(s.postgres.standby, STANDBY_SYNC);
    scenario_fini(&s);
}

// The key `dequeue` sets the mode. Older scenarios set it by MAILROOM_DEQUEUE, and some of them
// call shared by its older name, skip-locked.
static void dequeue_is_set_in_two_ways(void **state)
{
    static const struct {
        const char *collector;
        enum dequeue want;
    } cases[] = {
        {"{}", DEQUEUE_CURSOR},
        {"{dequeue: shared}", DEQUEUE_SHARED},
        {"{dequeue: leased}", DEQUEUE_LEASED},
        {"{env: {MAILROOM_DEQUEUE: skip-locked}}", DEQUEUE_SHARED},
        {"{dequeue: shared, env: {MAILROOM_DEQUEUE: skip-locked}}", DEQUEUE_SHARED},
        {"{env: {MAILROOM_DEQUEUE: cursor}}", DEQUEUE_CURSOR},
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct scenario s;
        char text[300];
        int len = snprintf(text, sizeof text,
            "name: x\nsummary: x\nload: [{for: 1s, rate: 1/s}]\ncollector: %s\n",
            cases[i].collector);
        write_file(FILE_NAME, text, (size_t)len);
        load_good(&s, FILE_NAME, (struct overrides){0});
        assert_int_equal(s.collector.dequeue, cases[i].want);
        scenario_fini(&s);
    }
}

static void a_missing_file_is_named(void **state)
{
    struct scenario s;
    struct err e = {0};

    assert_false(scenario_load(&s, "none.yaml", &(struct overrides){0}, &e));
    assert_string_equal(e.text, "cannot read none.yaml: No such file or directory");
    assert_false(scenario_load(&s, ".", &(struct overrides){0}, &e));
    assert_string_equal(e.text, "cannot read .: Is a directory");
}

static void tables_are_in_order(void **state)
{
    for (size_t i = 0; i < METRIC_COUNT; i++) {
        assert_int_equal(metrics[i].id, i);
        assert_ptr_equal(metric_find(metrics[i].name), &metrics[i]);
        assert_non_null(metrics[i].help);
    }
    for (size_t i = 0; i < VERB_COUNT; i++) {
        assert_int_equal(verbs[i].id, i);
        assert_ptr_equal(verb_find(verbs[i].name), &verbs[i]);
    }
}

static void check_limits(const char *path, const char *text)
{
    if (strcmp(path, "collector.capacity") == 0)
        assert_non_null(strstr(text, "; 1/s to 1000000/s"));
    if (strcmp(path, "load.N.rate") == 0)
        assert_non_null(strstr(text, "; 0/s to 1000000/s"));
}

static void the_help_names_limits_of_rates(void **state)
{
    keys_each(check_limits);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(overrides_change_and_add),
        cmocka_unit_test(fills_in_defaults),
        cmocka_unit_test(reads_a_full_scenario),
        cmocka_unit_test(writes_what_it_reads),
        cmocka_unit_test(an_option_may_choose_any_provider),
        cmocka_unit_test(dequeue_is_set_in_two_ways),
        cmocka_unit_test(a_missing_file_is_named),
        cmocka_unit_test(tables_are_in_order),
        cmocka_unit_test(the_help_names_limits_of_rates),
    };
    return cmocka_run_group_tests_name("harness.scenario", tests, enter_folder, leave_folder);
}
