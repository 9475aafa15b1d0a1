// Scenario files and overrides that are refused, and the messages that say why.
#include "scenario/tests/refusals.h"

#include "scenario/parse.h"

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
        {HEAD "seed: 1\nname: y\n", "x.yaml:4:1: 'name' is given twice; first in line 1"},
        {HEAD "load:\n  - for: 1s\n    rate: 1/s\n    for: 2s\n",
            "x.yaml:6:5: 'for' is given twice; first in line 4"},
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

    CHECK_ALL(cases);
}

// Such as the front matter of a finding, which begins in the second line of its file.
static void errors_count_from_where_the_text_begins(void **state)
{
    static const struct wrong cases[] = {
        {"# only a comment\n", "x.md:2:1: there is nothing in it"},
        {"a:\n  - b\n\t- c\n", "x.md:4:1: YAML is not indented with tabs; use spaces"},
        {"a: 1\nb: \xff\n", "x.md:3:4: the file is not UTF-8 text (invalid leading UTF-8 octet)"},
    };
    const struct origin origin = {.file = "x.md", .line = 2, .column = 1};

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct node *root;
        struct err e = {0};
        assert_false(parse_yaml(&root, cases[i].text, strlen(cases[i].text), &origin, &e));
        assert_string_equal(e.text, cases[i].error);
    }
}

static void refuses_what_is_too_large(void **state)
{
    size_t len = ((size_t)1 << 20) + 1;
    char *text = malloc(len);
    struct buf many;

    assert_non_null(text);
    memset(text, '#', len);
    expect_error(text, len, NULL,
        "x.yaml:1:1: the file is larger than 1 MiB, the most that a scenario may have");
    free(text);

    buf_init(&many, 100000);
    for (int i = 0; i <= 1000; i++)
        buf_printf(&many, "k%d: 1\n", i);
    expect_error(
        many.data, many.len, NULL, "x.yaml:1001:8: more than 1000 entries in one list or map");
    buf_fini(&many);
}

// A name has at most 255 bytes, because YAML does not read a long plain key back.
static void refuses_names_that_cannot_be_written(void **state)
{
    static const char after[] = "\n    : 1\n";
    struct buf text;

    buf_init(&text, 10000);
    buf_append_str(&text, HEAD LOAD "postgres:\n  settings:\n    ? ");
    for (int i = 0; i < 300; i++)
        buf_append_char(&text, 'a');
    buf_append_str(&text, after);
    write_file(FILE_NAME, text.data, text.len);
    struct scenario s;
    struct err e = {0};
    assert_false(scenario_load(&s, FILE_NAME, &(struct overrides){0}, &e));
    assert_non_null(strstr(e.text, "x.yaml:8:7: postgres.settings: 'aaa"));
    assert_non_null(strstr(e.text, "aaa' is not the name of a server setting"));
    buf_fini(&text);
}

// A server gets its settings on its command line, so their number and length are limited.
static void refuses_settings_beyond_their_limits(void **state)
{
    static const char *const answers[] = {
        "x.yaml:6:22: postgres.settings: at most 64 server settings are allowed",
        "x.yaml:6:27: postgres.settings.a1: with its name a server setting has at most 510 bytes"};

    for (int many = 0; many <= 1; many++) {
        struct buf text;
        buf_init(&text, 10000);
        buf_append_str(&text, HEAD LOAD "postgres: {settings: {");
        for (int i = 1; i <= (many ? 65 : 1); i++)
            buf_printf(&text, "%sa%d: %0*d", i > 1 ? ", " : "", i, many ? 1 : 509, 1);
        buf_append_str(&text, "}}\n");
        write_file(FILE_NAME, text.data, text.len);
        struct scenario s;
        struct err e = {0};
        assert_false(scenario_load(&s, FILE_NAME, &(struct overrides){0}, &e));
        assert_string_equal(e.text, answers[!many]);
        buf_fini(&text);
    }
}

// Recorded arrivals must be a regular file: a folder reads as empty, and a device may never end.
static void refuses_recordings_that_are_no_files(void **state)
{
    static const struct wrong cases[] = {
        {HEAD "load:\n  - {for: 1s, arrivals: trace, file: .}\n",
            "x.yaml:4:38: load.0.file: .: this is not a regular file"},
        {HEAD "load:\n  - {for: 1s, arrivals: trace, file: /dev/zero}\n",
            "x.yaml:4:38: load.0.file: /dev/zero: this is not a regular file"},
        {HEAD "load:\n  - {for: 1s, arrivals: trace, file: long.csv}\n",
            "x.yaml:4:38: load.0.file: line 1 is longer than 4095 bytes"},
    };
    char line[5000];

    memset(line, '1', sizeof line);
    write_file("long.csv", line, sizeof line);
    CHECK_ALL(cases);
}

static void refuses_recordings_not_in_seconds(void **state)
{
    static const char *const times[] = {
        "12m", "12u", "1s", "0.5h", "-1", "+1", " 1", "1e0", "1.", "x"};
    static const char text[] = HEAD "load:\n  - {for: 20s, arrivals: trace, file: recorded.csv}\n";

    for (size_t i = 0; i < sizeof times / sizeof *times; i++) {
        char line[40], error[200];
        snprintf(line, sizeof line, "0.25\n%s,x\n", times[i]);
        write_file("recorded.csv", line, strlen(line));
        snprintf(error, sizeof error,
            "x.yaml:4:39: load.0.file: line 2: '%s' is not a time in seconds", times[i]);
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
            "x.yaml:4:39: load.0.connections: 'many' is not a whole number"},
        {HEAD "load:\n  - {for: 1s, rate: 1/s, recovery: 20/s}\n",
            "x.yaml:4:36: load.0.recovery: '20/s' is not a share such as 0.25 or 25%"},
        {HEAD "load:\n  - {for: 1s, rate: 1/s, recovery: 1.5}\n",
            "x.yaml:4:36: load.0.recovery: '1.5' should be a share between 0 and 1"},
        {HEAD "load:\n  - {for: 1s, rate: 1/s, recovery: [1]}\n",
            "x.yaml:4:36: load.0.recovery: this should be a single value, not a list"},
        {HEAD "load:\n  - {for: 1s, rate: 1/s, hold_open: {share: 0.1}}\n",
            "x.yaml:4:37: load.0.hold_open: 'for' is missing: how long they stay open after their "
            "insert"},
        {HEAD "seed: -1\n" LOAD, "x.yaml:3:7: seed: '-1' is not a whole number"},
        {HEAD "tags: fault\n" LOAD, "x.yaml:3:7: tags: this should be a list, such as [one, two]"},
        {HEAD "collector: {restart: maybe}\n" LOAD,
            "x.yaml:3:22: collector.restart: 'maybe' should be true or false"},
        {HEAD "collector: {layout: other}\n" LOAD,
            "x.yaml:3:21: collector.layout: 'other' should be auto, reference or foreign"},
        {HEAD "collector: {env: [A]}\n" LOAD,
            "x.yaml:3:18: collector.env: this should be a map, such as {name: value}"},
        {"name: x\nsummary: \"\"\n" LOAD, "x.yaml:2:10: summary: there is no value here"},
        {HEAD "seed: \"1\\n2\"\n" LOAD, "x.yaml:3:7: seed: '1?2' is not a whole number"},
        {"name: x\nsummary: \"a\\nb\"\n" LOAD,
            "x.yaml:2:10: summary: this should be one line without control characters"},
        {HEAD LOAD "allow: {latency.p99: any}\n",
            "x.yaml:6:9: allow: 'latency.p99' is not an invariant; `mailproof list` shows them"},
        {HEAD LOAD "allow: {lots: any}\n",
            "x.yaml:6:9: allow: 'lots' is not an invariant; did you mean 'lost'?"},
        {HEAD LOAD "allow: {lost: some}\n",
            "x.yaml:6:15: allow.lost: 'some' should be any or a whole number"},
        {HEAD LOAD "judged: {late: 150%}\n",
            "x.yaml:6:16: judged.late: '150%' should be a share between 0 and 1"},
        {HEAD LOAD "judged: {delivered: 50%}\n",
            "x.yaml:6:10: judged: 'delivered' is not an invariant; `mailproof list` shows them"},
        {HEAD LOAD "collector: {promises: [order, wait]}\n",
            "x.yaml:6:31: collector.promises.1: 'wait' should be no_loss, once, limit, timeout, "
            "order, reconnect, backpressure, stop, small, standby, sharing, outcome, budget, "
            "lanes, dead_letters, fills, releases, lease, retries or waits_for_writers"},
        {HEAD LOAD "collector: {writes: [tokens.consumed_at, status]}\n",
            "x.yaml:6:42: collector.writes.1: 'status' should be a table and a column, such as "
            "tokens.consumed_at"},
        {HEAD LOAD "collector: {capacity: 2000}\n",
            "x.yaml:6:23: collector.capacity: '2000' has no unit; write a rate such as 200/s or a "
            "ramp such as 100/s..2000/s"},
        {HEAD LOAD "expect: {latency.p98: \"< 1s\"}\n",
            "x.yaml:6:10: expect: 'latency.p98' is not a metric; did you mean 'latency.p90'?"},
        {HEAD LOAD "expect:\n  latency.p99: \"< 500\"\n",
            "x.yaml:7:16: expect.latency.p99: '500' has no unit; write a duration such as 20s, "
            "300ms or 5m"},
        {HEAD LOAD "expect:\n  lost: \"= 0ms\"\n",
            "x.yaml:7:9: expect.lost: '0ms' is not a number such as 3 or 0.25"},
        {HEAD LOAD "expect:\n  lost: 0\n",
            "x.yaml:7:9: expect.lost: '0' compares nothing; begin with =, !=, <, <=, > or >=, such "
            "as \"= 0\""},
        {HEAD LOAD "expect:\n  rate.delivered: \"> 100\"\n",
            "x.yaml:7:19: expect.rate.delivered: '100' has no unit; write a rate such as 200/s or "
            "a "
            "ramp such as 100/s..2000/s"},
    };

    CHECK_ALL(cases);
}

static void errors_name_the_override(void **state)
{
    static const struct {
        const char *set, *error;
    } cases[] = {
        {"load.0.for", "--set load.0.for: write a key, '=' and a value, such as load.0.for=1s"},
        {"=1", "--set =1: write a key, '=' and a value, such as load.0.for=1s"},
        {"load..for=1s", "--set load..for=1s: this is not a path; write one such as load.0.for"},
        {"seed.=5", "--set seed.=5: this is not a path; write one such as load.0.for"},
        {"expect.=1", "--set expect.=1: this is not a path; write one such as load.0.for"},
        {"load.0.for=20",
            "--set load.0.for=20: load.0.for: '20' has no unit; write a duration such "
            "as 20s, 300ms or 5m"},
        {"load.x.for=1s",
            "--set load.x.for=1s: 'x' should be the number of a list item, counted from 0"},
        {"load.2.for=1s", "--set load.2.for=1s: the list has 1 item; number 1 would be the next"},
        {"name.x=1", "--set name.x=1: cannot set 'x', because the value above it is not a map"},
        {"sede=1", "--set sede=1: 'sede' is not a key that is known here; did you mean 'seed'?"},
        {"seed=", "--set seed=: seed: '' is not a whole number"},
        {"seed=[1", "--set seed=[1: not YAML: while parsing a flow sequence, did not find expected "
                    "',' or ']'"},
        {"collector.env.A=\xff", "--set: the value is not UTF-8 text"},
        {"collector.env.A=\xed\xa0\x80", "--set: the value is not UTF-8 text"},
        {"collector.env.A=\xc0\xaf", "--set: the value is not UTF-8 text"},
        {"expect.latency.p99=500ms",
            "--set expect.latency.p99=500ms: expect.latency.p99: '500ms' compares nothing; begin "
            "with =, !=, <, <=, > or >=, such as \"= 0\""},
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        expect_error(HEAD LOAD, strlen(HEAD LOAD), cases[i].set, cases[i].error);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(refuses_what_is_no_yaml),
        cmocka_unit_test(errors_count_from_where_the_text_begins),
        cmocka_unit_test(refuses_what_is_too_large),
        cmocka_unit_test(refuses_names_that_cannot_be_written),
        cmocka_unit_test(refuses_settings_beyond_their_limits),
        cmocka_unit_test(refuses_recordings_that_are_no_files),
        cmocka_unit_test(refuses_recordings_not_in_seconds),
        cmocka_unit_test(refuses_wrong_keys_and_values),
        cmocka_unit_test(errors_name_the_override),
    };
    return cmocka_run_group_tests_name("harness.refusals", tests, enter_folder, leave_folder);
}
