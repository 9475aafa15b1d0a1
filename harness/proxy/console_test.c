// Orders are parsed and carried out correctly, and wrong ones are refused with the reason.
#include "proxy/console.h"

#include <arpa/inet.h>
#include <netinet/in.h>

#include "base/unit.h"
#include "fault/proxy_inside.h"

static struct order parsed(const char *line)
{
    struct order o;
    struct err e = {0};

    if (!console_parse(line, &o, &e))
        fail_msg("%s: %s", line, e.text);
    return o;
}

static void reads_orders(void **state)
{
    struct order o = parsed("cut-at after 3 server CommandComplete COMMIT");
    assert_int_equal(o.id, ORDER_CUT_AT);
    assert_int_equal(o.side, CUT_AFTER);
    assert_int_equal(o.n, 3);
    assert_int_equal(o.kind.sender, MESSAGE_SERVER);
    assert_string_equal(o.kind.tag, "COMMIT");
    o = parsed("cut-at client Bind");
    assert_int_equal(o.side, CUT_BEFORE);
    assert_int_equal(o.n, 1);
    o = parsed("  delay 20ms jitter 5ms for 2s\n");
    assert_int_equal(o.by_ns, 20 * NS_PER_MS);
    assert_int_equal(o.jitter_ns, 5 * NS_PER_MS);
    assert_int_equal(o.for_ns, 2 * NS_PER_S);
    assert_int_equal(parsed("half-open to-client").direction, TO_COLLECTOR);
    assert_int_equal(parsed("half-open to-server for 1s").direction, TO_SERVER);
    assert_true(parsed("throttle 20kB/s").rate == 20000);
    assert_int_equal(parsed("limit-data 4000 for 1s").bytes, 4000);
    o = parsed("slice 7 gap 3ms");
    assert_int_equal(o.bytes, 7);
    assert_int_equal(o.by_ns, 3 * NS_PER_MS);
    assert_int_equal(parsed("slice 7").by_ns, NS_PER_MS);
    assert_true(parsed("heal drop").drop);
    assert_int_equal(parsed("quit").id, ORDER_QUIT);
}

static void refuses_wrong_orders(void **state)
{
    static const struct {
        const char *line, *text;
    } cases[] = {
        {"", "unknown order ''"},
        {"explode", "unknown order 'explode'"},
        {"cut-at", "''"},
        {"cut-at 0 client Bind", "N is 1 to 1000000"},
        {"cut-at client Bnd", "Bnd"},
        {"partition 2s", "partition: '2s' is too much; it takes [for TIME]"},
        {"partition for", "partition: for"},
        {"half-open sideways", "'sideways' should be to-server or to-client"},
        {"delay", "delay"},
        {"delay 20ms jitter", "delay: jitter"},
        {"throttle fast", "throttle"},
        {"throttle 0kB/s", "throttle: RATE is above 0"},
        {"partition for 0s", "partition: for: TIME is above 0"},
        {"limit-data 0", "limit-data: BYTES is at least 1"},
        {"slice 7 gap", "slice: gap"},
        {"reset for 2s", "reset: 'for' is too much; it takes nothing"},
        {"a b c d e f g h i j k l m", "at most 12 words"},
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct order o;
        struct err e = {0};
        assert_false(console_parse(cases[i].line, &o, &e));
        assert_int_equal(e.kind, ERR_USAGE);
        if (!strstr(e.text, cases[i].text))
            fail_msg("'%s': '%s' lacks '%s'", cases[i].line, e.text, cases[i].text);
    }
}

static void obey(struct console *c, const char *line)
{
    struct order o = parsed(line);

    console_apply(c, &o, 0);
}

// The end of an order leaves what another one still asks for.
static void orders_end_one_by_one(void **state)
{
    struct target nobody;
    struct err e;

    assert_true(target_init(&nobody, "host=127.0.0.1 port=1", &e));
    struct proxy_open open = {.at_len = sizeof(struct sockaddr_in), .to = &nobody};
    *(struct sockaddr_in *)&open.at =
        (struct sockaddr_in){.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    char *said = NULL;
    size_t len;
    struct console c = {.proxy = proxy_start_open(&open, &e), .out = open_memstream(&said, &len)};
    assert_non_null(c.proxy);
    assert_non_null(c.out);
    const bool *hold = c.proxy->conditions.hold;
    obey(&c, "half-open to-server");
    obey(&c, "partition for 1s");
    assert_true(hold[MESSAGE_CLIENT] && hold[MESSAGE_SERVER]);
    console_tick(&c, NS_PER_S);
    assert_true(hold[MESSAGE_CLIENT] && !hold[MESSAGE_SERVER]);
    obey(&c, "partition");
    obey(&c, "half-open to-client"); // ends the one before
    assert_true(hold[MESSAGE_CLIENT] && hold[MESSAGE_SERVER]);
    obey(&c, "heal");
    assert_true(!hold[MESSAGE_CLIENT] && !hold[MESSAGE_SERVER]);
    // With nothing left to undo, it says so, too.
    fflush(c.out);
    size_t before = len;
    obey(&c, "heal");
    assert_non_null(strstr(said + before, "healed"));
    obey(&c, "reset");
    // A cut is told of even if the next one is ordered at once.
    obey(&c, "cut-at client Query");
    c.proxy->cut_count = 1;
    obey(&c, "cut-at client Sync");
    fclose(c.out);
    assert_non_null(strstr(said, "half-open to-server began"));
    assert_non_null(strstr(said, "half-open to-client began"));
    assert_non_null(strstr(said, "reset: 0 connections"));
    assert_non_null(strstr(said, "cut before client Query number 1"));
    free(said);
    proxy_free(c.proxy);
    target_fini(&nobody);
}

static void a_script_goes_by_its_times(void **state)
{
    struct script s;
    struct err e = {0};

    assert_true(script_parse(
        &s, "# faults\n2s partition for 1s\n\n  500ms reset # at once\n2s heal\n", &e));
    assert_int_equal(s.count, 3);
    assert_null(script_due(&s, 499 * NS_PER_MS));
    assert_int_equal(script_due(&s, 500 * NS_PER_MS)->id, ORDER_RESET);
    assert_null(script_due(&s, 500 * NS_PER_MS));
    assert_int_equal(script_due(&s, 3 * NS_PER_S)->id, ORDER_PARTITION);
    assert_int_equal(script_due(&s, 3 * NS_PER_S)->id, ORDER_HEAL);
    assert_null(script_due(&s, CLOCK_NEVER));
    script_fini(&s);
    assert_false(script_parse(&s, "1s reset\nsoon reset\n", &e));
    assert_non_null(strstr(e.text, "line 2"));
    script_fini(&s);
    assert_false(script_parse(&s, "1s explode\n", &e));
    assert_non_null(strstr(e.text, "line 1: unknown order 'explode'"));
    script_fini(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_script_goes_by_its_times),
        cmocka_unit_test(reads_orders),
        cmocka_unit_test(refuses_wrong_orders),
        cmocka_unit_test(orders_end_one_by_one),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
