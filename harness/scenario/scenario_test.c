#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/clock.h"
#include "scenario/metrics.h"
#include "scenario/scenario.h"
#include "scenario/trace.h"

// The test works in a folder of its own, so that the place in an error is just
// "x.yaml:LINE:COLUMN".
#define FILE_NAME "x.yaml"
#define HEAD "name: x\nsummary: A test.\n"
#define LOAD "load:\n  - for: 20s\n    rate: 200/s\n"

static void write_file(const char *name, const char *text, size_t len)
{
    FILE *f = fopen(name, "wb");

    assert_non_null(f);
    assert_int_equal(fwrite(text, 1, len, f), len);
    assert_int_equal(fclose(f), 0);
}

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
        {HEAD LOAD "postgres: {provider: cloud}\n",
            "x.yaml:6:22: postgres.provider: 'cloud' should be local, container or url"},
        {HEAD LOAD "faults:\n  - {at: 1s, do: cut-power}\n",
            "x.yaml:7:18: faults.0.do: cut-power needs postgres.storage: crashable"},
        {HEAD LOAD "postgres: {provider: url, standby: sync}\n",
            "x.yaml:6:36: postgres.standby: only provider: local can have a standby"},
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
        {HEAD LOAD "collector: {batch_timeout: 1500us}\n",
            "x.yaml:6:28: collector.batch_timeout: collectors count in whole milliseconds"},
        {HEAD LOAD "collector: {env: {MAILROOM_BATCH_LIMIT: 5}}\n",
            "x.yaml:6:19: collector.env: 'MAILROOM_BATCH_LIMIT' cannot be set here; it is made "
            "from collector.batch_limit"},
        {HEAD LOAD "collector: {env: {\"A B\": 5}}\n",
            "x.yaml:6:19: collector.env: 'A B' is no name of an environment variable"},
        {HEAD LOAD "postgres: {settings: {\"a b\": 5}}\n",
            "x.yaml:6:23: postgres.settings: 'a b' is no name of a server setting"},
        {HEAD "load:\n  - {for: 1s, rate: 1/s, recovery: 0.6, ineligible: 0.5}\n",
            "x.yaml:4:5: load.0: recovery, ineligible and unsendable are shares of the same "
            "tokens; "
            "together they should not exceed 1"},
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
        {HEAD LOAD "faults:\n  - {at: 2s, every: 1s, do: kill-server, for: 1s}\n",
            "x.yaml:7:47: faults.0.for: '1s' should be shorter than 'every', so that one is over "
            "before the next"},
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

    (void)state;
    write_file(FILE_NAME, HEAD LOAD, strlen(HEAD LOAD));
    load_good(&s, FILE_NAME, (struct overrides){items, sizeof items / sizeof *items});
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

    (void)state;
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
    assert_int_equal(s.recovery_limit_ns, 5 * NS_PER_S);
    assert_int_equal(s.slack_ns, SLACK_AUTO);
    assert_int_equal(scenario_load_ns(&s), 20 * NS_PER_S);
    scenario_fini(&s);
}

// Every key that this version can do, none of them at its default.
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
    "  - {for: 10s, rate: 0/s}\n"
    "  - {for: 10s, rate: max}\n"
    "  - {name: again, for: 10s, arrivals: trace, file: recorded.csv}\n"
    "faults:\n"
    "  - {at: 1s, every: 300ms, until: 9s, do: terminate-backend, target: all}\n"
    "  - {at: 2s, every: 2s, do: pause-collector, instance: 1, for: 100ms}\n"
    "  - {at: 0s, do: crash-server}\n"
    "  - {at: 1s, do: cut-at, message: server CommandComplete UPDATE, n: 3, side: after}\n"
    "  - {at: 1s, do: delay, by: 5ms, jitter: 1ms, for: 100ms}\n"
    "  - {at: 1s, do: throttle, rate: 2.5kB/s, for: 100ms}\n"
    "  - {at: 1s, do: half-open, direction: to-server, reset: true, for: 100ms}\n"
    "  - {at: 1s, do: hold-horizon, prepared: true, database: other, for: 100ms}\n"
    "  - {at: 1s, do: fill-notify-queue, to: 2.5%, for: 100ms}\n"
    "drain: 1s\n"
    "recovery_limit: 2s\n"
    "slack: 70ms\n"
    "allow: {vanished: any, lost: 3}\n"
    "expect: {duplicated: \"= 0\", latency.p99: \"< 1s\", collector.cpu_s: \"<= 500ms\",\n"
    "  rate.delivered: \">= 100/s\"}\n";

static const char recorded[] = "# seconds, what came\n0\n1.25,order\n\n9.999999999\r\n";

static void reads_a_full_one(void **state)
{
    struct scenario s;

    (void)state;
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
    assert_true(s.load[0].rate_from == 100 && s.load[0].rate_to == 2000.5);
    assert_int_equal(s.load[0].for_ns, 1500 * NS_PER_MS);
    assert_string_equal(s.load[1].name, "phase-2");
    assert_int_equal(s.faults[0].target, TARGET_ALL);
    assert_int_equal(s.faults[0].until_ns, 9 * NS_PER_S);
    assert_int_equal(s.faults[1].until_ns, 31500 * NS_PER_MS);
    assert_int_equal(s.faults[1].instance, 1);
    assert_int_equal(s.faults[2].every_ns, 0);
    assert_int_equal(s.slack_ns, 70 * NS_PER_MS);
    assert_true(s.allow[0].most == INT64_MAX && s.allow[1].most == 3);
    assert_true(s.expect[1].value == 1000);
    assert_true(s.expect[2].value == 0.5);
    assert_string_equal(s.expect[3].want, ">= 100/s");
    scenario_fini(&s);
}

// Writing what was read, reading that and writing it again gives the same bytes.
static void check_round_trip(const char *path)
{
    struct scenario first, second;
    struct buf one, two;

    buf_init(&one, 100000);
    buf_init(&two, 100000);
    load_good(&first, path, (struct overrides){0});
    assert_true(scenario_write(&first, &one));
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
    assert_true(scenario_write(&second, &two));
    assert_string_equal(buf_str(&one), buf_str(&two));
    scenario_fini(&first);
    scenario_fini(&second);
    buf_fini(&one);
    buf_fini(&two);
}

// Two days, and a fault for as long.
static const char long_load[] = HEAD "load:\n  - {for: 24h, rate: 1/s}\n  - {for: 24h, rate: 1/s}\n"
                                     "faults:\n  - {at: 0s, every: 1h, do: reset}\n"
                                     "  - {at: 47h, do: reset}\n";

static void writes_what_it_reads(void **state)
{
    static const char *const shipped[] = {"steady", "backend-kill-storm", "server-crash",
        "collector-killed", "late-commits", "promise-limit"};
    char path[4096];

    (void)state;
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

// An option may choose a provider that the scenario is not made for: that run is
// skipped, and the copy in its folder can be read again.
static void an_option_may_choose_any_provider(void **state)
{
    static const char text[] = HEAD LOAD "postgres: {standby: sync}\n";
    static const char *const items[] = {"postgres.provider=container"};
    struct scenario s;
    struct buf kept;

    (void)state;
    write_file(FILE_NAME, text, strlen(text));
    load_good(&s, FILE_NAME, (struct overrides){items, 1});
    buf_init(&kept, 100000);
    assert_true(scenario_write(&s, &kept));
    scenario_fini(&s);
    write_file("scenario.yaml", kept.data, kept.len);
    buf_fini(&kept);
    load_good(&s, "scenario.yaml", (struct overrides){0});
    assert_string_equal(s.postgres.provider, "container");
    assert_int_equal(s.postgres.standby, STANDBY_SYNC);
    scenario_fini(&s);
}

static void a_missing_file_is_named(void **state)
{
    struct scenario s;
    struct err e = {0};

    (void)state;
    assert_false(scenario_load(&s, "none.yaml", NULL, &e));
    assert_string_equal(e.text, "none.yaml: No such file or directory");
    assert_false(scenario_load(&s, ".", NULL, &e));
    assert_string_equal(e.text, ".: Is a directory");
}

static void tables_are_in_order(void **state)
{
    (void)state;
    for (size_t i = 0; i < METRIC_COUNT; i++) {
        assert_int_equal(metrics[i].id, i);
        assert_ptr_equal(metric_find(metrics[i].name), &metrics[i]);
        assert_non_null(metrics[i].help);
    }
    for (size_t i = 0; i < verb_count; i++) {
        assert_int_equal(verbs[i].id, i);
        assert_ptr_equal(verb_find(verbs[i].name), &verbs[i]);
    }
}

static char folder[] = "/tmp/scenario-test-XXXXXX";

static int enter_folder(void **state)
{
    (void)state;
    return mkdtemp(folder) && chdir(folder) == 0 ? 0 : -1;
}

static int leave_folder(void **state)
{
    (void)state;
    unlink(FILE_NAME);
    unlink("scenario.yaml");
    unlink("long.csv");
    unlink("recorded.csv");
    unlink("long.csv");
    unlink("arrivals-again.csv");
    return chdir("/") == 0 && rmdir(folder) == 0 ? 0 : -1;
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
        cmocka_unit_test(overrides_change_and_add),
        cmocka_unit_test(fills_in_defaults),
        cmocka_unit_test(reads_a_full_one),
        cmocka_unit_test(writes_what_it_reads),
        cmocka_unit_test(an_option_may_choose_any_provider),
        cmocka_unit_test(a_missing_file_is_named),
        cmocka_unit_test(tables_are_in_order),
    };
    return cmocka_run_group_tests_name("harness.scenario", tests, enter_folder, leave_folder);
}
