// Scenario files and overrides that are refused, and the messages that say why.
#include "scenario/scenario.h"
#include "scenario/test_folder.h"

static void expect_error(const char *text, size_t len, const char *set, const char *error)
{
    struct overrides sets = {&set, set ? 1 : 0};
    struct scenario s;
    struct err e = {0};

    write_file(FILE_NAME, text, len);
    assert_false(scenario_load(&s, FILE_NAME, &sets, &e));
    assert_string_equal(e.text, error);
    assert_int_equal(e.kind, ERR_USAGE);
    scenario_fini(&s);
}

struct wrong {
    const char *text;
    const char *error;
};

static void check_all(const struct wrong *cases, size_t count)
{
    for (size_t i = 0; i < count; i++)
        expect_error(cases[i].text, strlen(cases[i].text), NULL, cases[i].error);
}

#define CHECK_ALL(cases) check_all(cases, sizeof(cases) / sizeof *(cases))

static void refuses_what_is_no_yaml(void **state)
{
    static const struct wrong cases[] = {
        {"", "x.yaml:1:1: there is nothing in it"},
        {"# only a comment\n", "x.yaml:1:1: there is nothing in it"},
        {"just words\n", "x.yaml:1:1: this should be a map of keys and values"},
        {"- a\n- b\n", "x.yaml:1:1: this should be a map of keys and values"},
        {HEAD "load:\n\t- for: 1s\n", "x.yaml:4:1: YAML is not indented with tabs; use spaces"},
        {HEAD "tags: [a, b\nseed: 1\n", "x.yaml:4:5: not YAML: while parsing a flow sequence, did "
                                        "not find expected ',' or ']'"},
        {HEAD "seed: 1\nname: y\n", "x.yaml:4:1: 'name' stands here twice; first in line 1"},
        {HEAD "load:\n  - for: 1s\n    rate: 1/s\n    for: 2s\n",
            "x.yaml:6:5: 'for' stands here twice; first in line 4"},
        {HEAD "seed: &one 1\n",
            "x.yaml:3:7: anchors (&one) are not used in scenarios; write the value out"},
        {HEAD "seed: *one\n",
            "x.yaml:3:7: aliases (*one) are not used in scenarios; write the value out"},
        {HEAD "seed: !!int 1\n",
            "x.yaml:3:7: tags (tag:yaml.org,2002:int) are not used in scenarios; quote a text "
            "instead"},
        {HEAD LOAD "---\n" HEAD,
            "x.yaml:6:1: a second document starts here; a file holds one scenario"},
        {"name: \"a\\0b\"\n", "x.yaml:1:7: a text cannot hold a zero byte"},
        {"[a]: b\n", "x.yaml:1:1: a key is a single word, not a list or a map"},
        {"name: \xff\n", "x.yaml:1:7: the file is not UTF-8 text (invalid leading UTF-8 octet)"},
        {"name: x\nsummary: \xc3\xa4\x01\n",
            "x.yaml:2:11: the file is not UTF-8 text (control characters are not allowed)"},
        {"a: [[[[[[[[[[[[[[[[[[1]]]]]]]]]]]]]]]]]]\n",
            "x.yaml:1:19: nested more than 16 levels deep"},
    };

    (void)state;
    CHECK_ALL(cases);
}

static void refuses_what_is_too_large(void **state)
{
    size_t len = ((size_t)1 << 20) + 1;
    char *text = malloc(len);
    struct buf many;

    (void)state;
    assert_non_null(text);
    memset(text, '#', len);
    expect_error(text, len, NULL, "x.yaml:1:1: the file is larger than 1 MiB, no scenario is");
    free(text);

    buf_init(&many, 100000);
    for (int i = 0; i <= 1000; i++)
        buf_printf(&many, "k%d: 1\n", i);
    expect_error(
        many.data, many.len, NULL, "x.yaml:1001:8: more than 1000 entries in one list or map");
    buf_fini(&many);
}

// Written as a plain key, it would not be read again.
static void refuses_names_that_cannot_be_written(void **state)
{
    static const char after[] = "\n    : 1\n";
    struct buf text;

    (void)state;
    buf_init(&text, 10000);
    buf_append_str(&text, HEAD LOAD "postgres:\n  settings:\n    ? ");
    for (int i = 0; i < 300; i++)
        buf_append_char(&text, 'a');
    buf_append_str(&text, after);
    write_file(FILE_NAME, text.data, text.len);
    struct scenario s;
    struct err e = {0};
    assert_false(scenario_load(&s, FILE_NAME, NULL, &e));
    assert_non_null(strstr(e.text, "x.yaml:8:7: postgres.settings: 'aaa"));
    assert_non_null(strstr(e.text, "aaa' is no name of a server setting"));
    buf_fini(&text);
}

// A folder reads as nothing, and a device may never end.
static void refuses_recordings_that_are_no_files(void **state)
{
    static const struct wrong cases[] = {
        {HEAD "load:\n  - {for: 1s, arrivals: trace, file: .}\n",
            "x.yaml:4:38: load.0.file: .: this is no regular file"},
        {HEAD "load:\n  - {for: 1s, arrivals: trace, file: /dev/zero}\n",
            "x.yaml:4:38: load.0.file: /dev/zero: this is no regular file"},
        {HEAD "load:\n  - {for: 1s, arrivals: trace, file: long.csv}\n",
            "x.yaml:4:38: load.0.file: line 1 is longer than 4095 bytes"},
    };
    char line[5000];

    (void)state;
    memset(line, '1', sizeof line);
    write_file("long.csv", line, sizeof line);
    CHECK_ALL(cases);
}

static void refuses_recordings_of_other_than_seconds(void **state)
{
    static const char *const times[] = {
        "12m", "12u", "1s", "0.5h", "-1", "+1", " 1", "1e0", "1.", "x"};
    static const char text[] = HEAD "load:\n  - {for: 20s, arrivals: trace, file: recorded.csv}\n";

    (void)state;
    for (size_t i = 0; i < sizeof times / sizeof *times; i++) {
        char line[40], error[200];
        snprintf(line, sizeof line, "0.25\n%s,x\n", times[i]);
        write_file("recorded.csv", line, strlen(line));
        snprintf(error, sizeof error,
            "x.yaml:4:39: load.0.file: line 2: '%s' is no time in seconds", times[i]);
        expect_error(text, strlen(text), NULL, error);
    }
}

static void refuses_wrong_keys_and_values(void **state)
{
    static const struct wrong cases[] = {
        {"summary: A test.\n" LOAD, "x.yaml:1:1: 'name' is missing: the file's name without .yaml"},
        {HEAD, "x.yaml:1:1: 'load' is missing: phases, one after another"},
        {HEAD LOAD "sede: 1\n",
            "x.yaml:6:1: 'sede' is not a key that is known here; did you mean 'seed'?"},
        {HEAD LOAD "weather: 1\n", "x.yaml:6:1: 'weather' is not a key that is known here"},
        {HEAD "load:\n  - for: 20\n    rate: 200/s\n",
            "x.yaml:4:10: load.0.for: '20' has no unit; write a duration such as 20s, 300ms or "
            "5m"},
        {HEAD "load:\n  - fro: 20s\n    rate: 200/s\n",
            "x.yaml:4:5: load.0: 'fro' is not a key that is known here; did you mean 'for'?"},
        {HEAD "load:\n  - for: 20s\n", "x.yaml:4:5: load.0: 'rate' is missing: intended tokens per "
                                       "second, such as 200/s"},
        {HEAD "load: []\n", "x.yaml:3:7: load: there should be at least one phase"},
        {HEAD "load: 20s\n", "x.yaml:3:7: load: this should be a list: lines that begin with '- '"},
        {HEAD "load: [20s]\n", "x.yaml:3:8: load.0: this should be a map of keys and values"},
        {HEAD "load:\n  - {for: 20s, rate: 200}\n", "x.yaml:4:22: load.0.rate: '200' has no unit; "
                                                    "write a rate such as 200/s or a ramp such "
                                                    "as 100/s..2000/s"},
        {HEAD "load:\n  - {for: 20s, rate: 2000000/s}\n",
            "x.yaml:4:22: load.0.rate: '2000000/s' should not exceed 1000000/s"},
        {HEAD "load:\n  - {for: 0s, rate: 200/s}\n",
            "x.yaml:4:11: load.0.for: '0s' should lie between 1ms and 86400s"},
        {HEAD "load:\n  - {for: 1s, rate: 1/s, connections: 0}\n",
            "x.yaml:4:39: load.0.connections: '0' should lie between 1 and 500"},
        {HEAD "load:\n  - {for: 1s, rate: 1/s, connections: many}\n",
            "x.yaml:4:39: load.0.connections: 'many' is no whole number"},
        {HEAD "load:\n  - {for: 1s, rate: 1/s, recovery: 20/s}\n",
            "x.yaml:4:36: load.0.recovery: '20/s' is no share such as 0.25 or 25%"},
        {HEAD "load:\n  - {for: 1s, rate: 1/s, recovery: 1.5}\n",
            "x.yaml:4:36: load.0.recovery: '1.5' should be a share between 0 and 1"},
        {HEAD "load:\n  - {for: 1s, rate: 1/s, recovery: [1]}\n",
            "x.yaml:4:36: load.0.recovery: this should be a single value, not a list"},
        {HEAD "load:\n  - {for: 1s, rate: 1/s, hold_open: {share: 0.1}}\n",
            "x.yaml:4:37: load.0.hold_open: 'for' is missing: how long they stay open after their "
            "insert"},
        {HEAD "seed: -1\n" LOAD, "x.yaml:3:7: seed: '-1' is no whole number"},
        {HEAD "tags: fault\n" LOAD, "x.yaml:3:7: tags: this should be a list, such as [one, two]"},
        {HEAD "collector: {restart: maybe}\n" LOAD,
            "x.yaml:3:22: collector.restart: 'maybe' should be true or false"},
        {HEAD "collector: {layout: other}\n" LOAD,
            "x.yaml:3:21: collector.layout: 'other' should be reference or foreign"},
        {HEAD "collector: {env: [A]}\n" LOAD,
            "x.yaml:3:18: collector.env: this should be a map, such as {name: value}"},
        {"name: x\nsummary: \"\"\n" LOAD, "x.yaml:2:10: summary: nothing is written here"},
        {HEAD "seed: \"1\\n2\"\n" LOAD, "x.yaml:3:7: seed: '1?2' is no whole number"},
        {"name: x\nsummary: \"a\\nb\"\n" LOAD,
            "x.yaml:2:10: summary: this should be one line without control characters"},
        {HEAD LOAD "allow: {latency.p99: any}\n",
            "x.yaml:6:9: allow: 'latency.p99' is no invariant; `mailproof list` shows them"},
        {HEAD LOAD "allow: {lots: any}\n",
            "x.yaml:6:9: allow: 'lots' is no invariant; did you mean 'lost'?"},
        {HEAD LOAD "allow: {lost: some}\n",
            "x.yaml:6:15: allow.lost: 'some' should be any or a whole number"},
        {HEAD LOAD "judged: {late: 150%}\n",
            "x.yaml:6:16: judged.late: '150%' should be a share between 0 and 1"},
        {HEAD LOAD "judged: {delivered: 50%}\n",
            "x.yaml:6:10: judged: 'delivered' is no invariant; `mailproof list` shows them"},
        {HEAD LOAD "collector: {promises: [order, wait]}\n",
            "x.yaml:6:31: collector.promises.1: 'wait' should be no_loss, once, limit, timeout, "
            "order, reconnect, sharing, small or waits_for_writers"},
        {HEAD LOAD "collector: {capacity: 2000}\n",
            "x.yaml:6:23: collector.capacity: '2000' has no unit; write a rate such as 200/s or a "
            "ramp such as 100/s..2000/s"},
        {HEAD LOAD "expect: {latency.p98: \"< 1s\"}\n",
            "x.yaml:6:10: expect: 'latency.p98' is no metric; did you mean 'latency.p90'?"},
        {HEAD LOAD "expect:\n  latency.p99: \"< 500\"\n",
            "x.yaml:7:16: expect.latency.p99: '500' has no unit; write a duration such as 20s, "
            "300ms or 5m"},
        {HEAD LOAD "expect:\n  lost: \"= 0ms\"\n",
            "x.yaml:7:9: expect.lost: '0ms' is no number such as 3 or 0.25"},
        {HEAD LOAD "expect:\n  lost: 0\n",
            "x.yaml:7:9: expect.lost: '0' compares nothing; begin with =, !=, <, <=, > or >=, such "
            "as \"= 0\""},
        {HEAD LOAD "expect:\n  rate.delivered: \"> 100\"\n",
            "x.yaml:7:19: expect.rate.delivered: '100' has no unit; write a rate such as 200/s or "
            "a "
            "ramp such as 100/s..2000/s"},
    };

    (void)state;
    CHECK_ALL(cases);
}

static void says_what_cannot_be_done(void **state)
{
    static const struct wrong cases[] = {
        {HEAD LOAD "postgres: {provider: container, storage: crashable}\n",
            "x.yaml:6:42: postgres.storage: only provider: local can be crashable"},
        {HEAD LOAD "postgres: {disk: lying}\n",
            "x.yaml:6:18: postgres.disk: only with postgres.storage: crashable is the disk ours"},
        {HEAD LOAD "postgres: {provider: cloud}\n",
            "x.yaml:6:22: postgres.provider: 'cloud' should be local, container, url or patroni"},
        {HEAD LOAD "faults:\n  - {at: 1s, do: cut-power}\n",
            "x.yaml:7:18: faults.0.do: cut-power needs postgres.storage: crashable"},
        {HEAD LOAD "faults:\n  - {at: 1s, do: hang-sender, for: 1s}\n",
            "x.yaml:7:18: faults.0.do: hang-sender needs collector.dequeue: leased"},
        {HEAD LOAD "postgres: {provider: url, standby: sync}\n",
            "x.yaml:6:36: postgres.standby: only provider: local and provider: patroni can have a "
            "standby"},
        {HEAD LOAD "postgres: {provider: patroni}\n",
            "x.yaml:1:1: provider: patroni needs postgres.standby: async or sync"},
        {HEAD LOAD "postgres: {announce: never}\n",
            "x.yaml:6:22: postgres.announce: 'never' should be each or bell"},
        {HEAD LOAD "postgres: {announce: bell, schema: 16}\n",
            "x.yaml:6:22: postgres.announce: announce: bell needs postgres.schema: 17 or later"},
        {HEAD LOAD "postgres: {announce: bell}\ncollector: {dequeue: leased}\n",
            "x.yaml:6:22: postgres.announce: leased collectors need announce: each"},
        {HEAD LOAD "postgres: {route: proxy}\n",
            "x.yaml:6:19: postgres.route: route: proxy needs postgres.provider: patroni"},
        {HEAD LOAD "faults:\n  - {at: 1s, do: switchover}\n",
            "x.yaml:7:18: faults.0.do: switchover needs postgres.provider: patroni"},
        {HEAD LOAD "faults:\n  - {at: 1s, do: promote-standby}\n",
            "x.yaml:7:18: faults.0.do: promote-standby needs postgres.standby: async or sync"},
        {HEAD LOAD "faults:\n  - {at: 1s, do: cut-at, message: x, n: 1}\n",
            "x.yaml:7:35: faults.0.message: 'x' names no message; write its sender and its name, "
            "such as client Bind or server CommandComplete UPDATE"},
        {HEAD LOAD "faults:\n  - {at: 1s, do: cut-at, message: client Bnd}\n",
            "x.yaml:7:35: faults.0.message: 'Bnd' is no message that a client sends; did you mean "
            "'Bind'?"},
        {HEAD LOAD "faults:\n  - {at: 1s, do: cut-at, message: client Bind UPDATE}\n",
            "x.yaml:7:35: faults.0.message: 'client Bind UPDATE': only server CommandComplete "
            "takes "
            "a command's tag"},
        {HEAD LOAD "faults:\n  - {at: 1s, do: cut-at}\n",
            "x.yaml:7:5: faults.0: 'message' is missing: cut-at needs it"},
        {HEAD LOAD "faults:\n  - {at: 1s, do: throttle, for: 1s, rate: 20/s}\n",
            "x.yaml:7:43: faults.0.rate: '20/s' is no rate in bytes; write one such as 20kB/s"},
        {HEAD LOAD "faults:\n  - {at: 1s, do: kill-server, through: kernel}\n",
            "x.yaml:7:31: faults.0: kill-server takes no 'through'; partition and "
            "half-open "
            "do"},
        {HEAD LOAD "faults:\n  - {at: 1s, do: half-open, for: 1s, through: wire}\n",
            "x.yaml:7:47: faults.0.through: 'wire' should be proxy or kernel"},
        {HEAD LOAD "faults:\n  - {at: 1s, do: partition, for: 1s, through: kernel, reset: true}\n",
            "x.yaml:7:55: faults.0: the kernel drops what it withholds, and never resets; "
            "leave 'reset' out"},
        {HEAD LOAD "faults:\n  - {at: 1s, do: partition, for: 1s, through: kernel}\n"
                   "  - {at: 2s, do: kill-server}\n  - {at: 3s, do: reset}\n",
            "x.yaml:9:5: faults.2: reset would go through the proxy and partition before it "
            "through the kernel; in one scenario all go the same way"},
        {HEAD LOAD "postgres: {provider: container}\n"
                   "faults:\n  - {at: 1s, do: partition, for: 1s, through: kernel}\n",
            "x.yaml:8:47: faults.0.through: through: kernel needs postgres.provider: local"},
    };

    (void)state;
    CHECK_ALL(cases);
}

static void refuses_what_does_not_fit_together(void **state)
{
    static const struct wrong cases[] = {
        {"name: y\nsummary: A test.\n" LOAD,
            "x.yaml:1:7: name: 'y' should be the file's name without .yaml"},
        {"name: X Y\nsummary: A test.\n" LOAD,
            "x.yaml:1:7: name: 'X Y' should be at most 64 small letters, digits and '-'"},
        {HEAD LOAD "tags: [quick, Fault]\n",
            "x.yaml:6:15: tags.1: 'Fault' should be at most 64 small letters, digits and '-'"},
        {HEAD LOAD "collector: {batch_timeout: 10ms, adaptive_from: 20ms}\n",
            "x.yaml:6:49: collector.adaptive_from: this is the lower bound of a window: whole "
            "milliseconds, at most batch_timeout"},
        {HEAD LOAD "collector: {batch_timeout: 10ms, adaptive_from: 1500us}\n",
            "x.yaml:6:49: collector.adaptive_from: this is the lower bound of a window: whole "
            "milliseconds, at most batch_timeout"},
        {HEAD LOAD "collector: {batch_timeout: 1500us}\n",
            "x.yaml:6:28: collector.batch_timeout: collectors count in whole milliseconds"},
        {HEAD LOAD "collector: {env: {MAILROOM_BATCH_LIMIT: 5}}\n",
            "x.yaml:6:19: collector.env: 'MAILROOM_BATCH_LIMIT' cannot be set here; it is made "
            "from collector.batch_limit"},
        {HEAD LOAD "collector: {dequeue: leased, env: {MAILROOM_DEQUEUE: shared}}\n",
            "x.yaml:6:54: collector.env.MAILROOM_DEQUEUE: 'shared' is not what collector.dequeue "
            "says: 'leased'"},
        {HEAD LOAD "collector: {deqeue: shared}\n",
            "x.yaml:6:13: collector: 'deqeue' is not a key that is known here; did you mean "
            "'dequeue'?"},
        {HEAD LOAD "collector: {env: {\"A B\": 5}}\n",
            "x.yaml:6:19: collector.env: 'A B' is no name of an environment variable"},
        {HEAD LOAD "postgres: {settings: {\"a b\": 5}}\n",
            "x.yaml:6:23: postgres.settings: 'a b' is no name of a server setting"},
        {HEAD "load:\n  - {for: 1s, rate: 1/s, recovery: 0.6, ineligible: 0.5}\n",
            "x.yaml:4:5: load.0: recovery, ineligible and unsendable are shares of the same "
            "tokens; "
            "together they should not exceed 1"},
        {HEAD "load:\n  - {for: 1s, rate: 1/s, insrt: copy}\n",
            "x.yaml:4:26: load.0: 'insrt' is not a key that is known here; did you mean 'insert'?"},
        {HEAD "load:\n  - {for: 1s, rate: 1/s, insert: bulk}\n",
            "x.yaml:4:34: load.0.insert: 'bulk' should be row, savepoint, copy or upsert"},
        {HEAD "load:\n  - {for: 1s, rate: 1/s, changes: {deleted: 0.1}}\n",
            "x.yaml:4:36: load.0.changes: 'deleted' is not a key that is known here; did you mean "
            "'delete'?"},
        {HEAD "load:\n  - {for: 1s, rate: 1/s, changes: {delete: 0.6, consume: 0.5}}\n",
            "x.yaml:4:35: load.0.changes: these are shares of the same tokens; together they "
            "should not exceed 1"},
        {HEAD "load:\n  - {for: 1s, rate: 1/s}\n  - {for: 1s, rate: 1/s, backlog: 5}\n",
            "x.yaml:5:26: load.1: only the first phase can have a backlog: the collector starts "
            "before the second"},
        {HEAD "load:\n  - {for: 1s, rate: 1/s, hold_open: {share: 0.1, for: 0s}}\n",
            "x.yaml:4:37: load.0.hold_open: 'for' should be longer than 0s"},
        {HEAD "load:\n  - {for: 1s, rate: 1/s, name: a}\n  - {for: 1s, rate: 1/s, name: a}\n",
            "x.yaml:5:32: load.1.name: phase 0 is called 'a' too"},
        {HEAD "load:\n  - {for: 1s}\n",
            "x.yaml:4:5: load.0: 'rate' is missing: intended tokens per second, such as 200/s"},
        {HEAD "load:\n  - {for: 1s, rate: max, arrivals: constant}\n",
            "x.yaml:4:26: load.0: 'arrivals' says nothing at rate: max, a closed loop"},
        {HEAD "load:\n  - {for: 1s, arrivals: trace, rate: 1/s, file: a.csv}\n",
            "x.yaml:4:32: load.0: 'rate' says nothing at arrivals: trace; the file has it"},
        {HEAD "load:\n  - {for: 1s, arrivals: trace}\n",
            "x.yaml:4:5: load.0: 'file' is missing: the recorded times, one per line"},
        {HEAD "load:\n  - {for: 1s, arrivals: trace, file: none.csv}\n",
            "x.yaml:4:38: load.0.file: none.csv: No such file or directory"},
        {HEAD "load:\n  - {for: 1s, rate: 1/s, rows_per_transaction: 9..2}\n",
            "x.yaml:4:48: load.0.rows_per_transaction: '9..2' should lie between 1 and 1000, the "
            "smaller number first"},
        {HEAD LOAD "faults:\n  - {at: 21s, do: kill-server}\n",
            "x.yaml:7:10: faults.0.at: '21s' lies after the end of the load, which lasts 20s"},
        {HEAD LOAD "faults:\n  - {at: 1s, every: 1s, until: 30s, do: kill-server}\n",
            "x.yaml:7:32: faults.0.until: '30s' lies after the end of the load, which lasts 20s"},
        {HEAD LOAD "faults:\n  - {at: 2s, every: 1s, until: 1s, do: kill-server}\n",
            "x.yaml:7:32: faults.0.until: '1s' lies before 'at'"},
        {HEAD LOAD "faults:\n  - {at: 2s, until: 1s, do: kill-server}\n",
            "x.yaml:7:14: faults.0: 'until' says nothing without 'every'"},
        {HEAD LOAD "faults:\n  - {at: 2s, every: 0s, do: kill-server}\n",
            "x.yaml:7:21: faults.0.every: '0s' should lie between 1ms and 86400s"},
        {HEAD LOAD "faults:\n  - {at: 2s, do: stop-server}\n",
            "x.yaml:7:5: faults.0: 'for' is missing: how long stop-server lasts"},
        {HEAD LOAD "faults:\n  - {at: 2s, do: restart-server, for: 1s}\n",
            "x.yaml:7:34: faults.0: restart-server takes no 'for'"},
        {HEAD LOAD "faults:\n  - {at: 2s, do: kill-server, target: load}\n",
            "x.yaml:7:31: faults.0: kill-server takes no 'target'"},
        {HEAD LOAD "faults:\n  - {at: 2s, every: 1s, do: kill-server, for: 2s}\n",
            "x.yaml:7:47: faults.0.for: '2s' should not be longer than 'every', so that one is "
            "over before the next"},
        {HEAD LOAD "faults:\n  - {at: 2s, every: 1s, do: kill-server, for: 900ms, jitter: 200ms}\n",
            "x.yaml:7:62: faults.0.jitter: '200ms' and 'for' together should not be longer than "
            "'every', so that no time passes the next"},
        {HEAD LOAD "faults:\n  - {at: 2s, do: kill-server, jitter: 200ms}\n",
            "x.yaml:7:31: faults.0: 'jitter' says nothing without 'every'"},
        {HEAD LOAD "faults:\n  - {at: 2s, every: 1s, do: kill-server, jiter: 200ms}\n",
            "x.yaml:7:42: faults.0: 'jiter' is not a key that is known here; did you mean "
            "'jitter'?"},
        {HEAD LOAD "faults:\n  - {at: 2s, do: pause-collector, for: rest}\n",
            "x.yaml:7:40: faults.0.for: only kill-collector and stop-collector last for the rest; "
            "write how long pause-collector lasts, such as 2s"},
        {HEAD LOAD "faults:\n  - {at: 2s, every: 1s, do: kill-collector, for: rest}\n",
            "x.yaml:7:50: faults.0.for: what is away for the rest cannot be ended every so often"},
        {HEAD LOAD "collector: {restart: false}\nfaults:\n"
                   "  - {at: 2s, do: stop-collector, for: 1s}\n",
            "x.yaml:8:39: faults.0.for: with collector.restart off nothing starts it again; write "
            "rest, or leave 'for' out"},
        {HEAD LOAD "faults:\n  - {at: 2s, do: kill-collector, instance: 1}\n",
            "x.yaml:7:44: faults.0.instance: there is no instance 1; collector.instances is 1, and "
            "they are counted from 0"},
        {HEAD LOAD "faults:\n  - {at: 2s, do: terminate-backends}\n",
            "x.yaml:7:18: faults.0.do: 'terminate-backends' is no fault verb; did you mean "
            "'terminate-backend'?"},
        {HEAD LOAD "faults:\n  - {at: 2s, do: earthquake}\n",
            "x.yaml:7:18: faults.0.do: 'earthquake' is no fault verb; `mailproof list` shows them"},
    };

    (void)state;
    CHECK_ALL(cases);
}

static void blames_the_override(void **state)
{
    static const struct {
        const char *set, *error;
    } cases[] = {
        {"load.0.for", "--set load.0.for: write a key, '=' and a value, such as load.0.for=1s"},
        {"=1", "--set =1: write a key, '=' and a value, such as load.0.for=1s"},
        {"load..for=1s", "--set load..for=1s: this is no path; write one such as load.0.for"},
        {"load.0.for=20",
            "--set load.0.for=20: load.0.for: '20' has no unit; write a duration such "
            "as 20s, 300ms or 5m"},
        {"load.x.for=1s",
            "--set load.x.for=1s: 'x' should be the number of a list item, counted from 0"},
        {"load.2.for=1s", "--set load.2.for=1s: the list has 1 items; number 1 would be the next"},
        {"name.x=1", "--set name.x=1: nothing can stand below a single value, as 'x' would"},
        {"sede=1", "--set sede=1: 'sede' is not a key that is known here; did you mean 'seed'?"},
        {"seed=", "--set seed=: seed: '' is no whole number"},
        {"seed=[1", "--set seed=[1: not YAML: while parsing a flow sequence, did not find expected "
                    "',' or ']'"},
        {"collector.env.A=\xff", "--set: the value is not UTF-8 text"},
        {"collector.env.A=\xed\xa0\x80", "--set: the value is not UTF-8 text"},
        {"collector.env.A=\xc0\xaf", "--set: the value is not UTF-8 text"},
        {"expect.latency.p99=500ms",
            "--set expect.latency.p99=500ms: expect.latency.p99: '500ms' compares nothing; begin "
            "with =, !=, <, <=, > or >=, such as \"= 0\""},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        expect_error(HEAD LOAD, strlen(HEAD LOAD), cases[i].set, cases[i].error);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(refuses_what_is_no_yaml),
        cmocka_unit_test(refuses_what_is_too_large),
        cmocka_unit_test(refuses_names_that_cannot_be_written),
        cmocka_unit_test(refuses_recordings_that_are_no_files),
        cmocka_unit_test(refuses_recordings_of_other_than_seconds),
        cmocka_unit_test(refuses_wrong_keys_and_values),
        cmocka_unit_test(says_what_cannot_be_done),
        cmocka_unit_test(refuses_what_does_not_fit_together),
        cmocka_unit_test(blames_the_override),
    };
    return cmocka_run_group_tests_name("harness.refusals", tests, enter_folder, leave_folder);
}
