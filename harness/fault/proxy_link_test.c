// One connection through the proxy, over socket pairs and with a clock that the test sets.
#include "fault/proxy_inside.h"

#include <sys/socket.h>

#include "base/unit.h"

#define STARTUP "\0\0\0\x09\0\3\0\0\0"
#define QUERY "Q\0\0\0\6;\0"
#define SYNC "S\0\0\0\4"

struct fixture {
    int client, server; // the ends outside of the link
    struct link *link;
    struct link_conditions conditions;
    unsigned char cut_type; // type of the message to cut at; 0: no cut
    enum cut_side cut_side;
    bool clear_only;
    char types[64]; // types of the messages seen so far
    int64_t now_ns, wake_ns;
    bool was_cut;
};

static bool watch(
    void *self, enum message_sender sender, const struct wire_message *m, enum cut_side *side)
{
    struct fixture *f = self;
    size_t len = strlen(f->types);

    (void)sender;
    f->types[len] = (char)m->type;
    f->types[len + 1] = '\0';
    *side = f->cut_side;
    return f->cut_type && m->type == f->cut_type;
}

static void open_link(struct fixture *f)
{
    int near[2], far[2];

    *f = (struct fixture){.now_ns = NS_PER_S};
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, near), 0);
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, far), 0);
    f->client = near[0];
    f->server = far[0];
    f->link = link_new(near[1], far[1]);
}

static void close_link(struct fixture *f)
{
    link_free(f->link, false);
    close(f->client);
    close(f->server);
}

static bool pump(struct fixture *f)
{
    const struct link_watcher watcher = {.message = watch, .self = f, .clear_only = f->clear_only};

    f->wake_ns = CLOCK_NEVER;
    return link_pump(f->link, &f->conditions, &watcher, f->now_ns, &f->wake_ns, &f->was_cut);
}

static void send_all(int fd, const char *bytes, size_t len)
{
    assert_int_equal(write(fd, bytes, len), len);
}

#define SEND(fd, text) send_all(fd, text, sizeof(text) - 1)

static void expect_bytes(int fd, const char *bytes, size_t len)
{
    char got[256];

    assert_int_equal(read(fd, got, sizeof got), len);
    assert_memory_equal(got, bytes, len);
}

#define EXPECT(fd, text) expect_bytes(fd, text, sizeof(text) - 1)

static void expect_nothing(int fd)
{
    char got[8];

    assert_int_equal(read(fd, got, sizeof got), -1);
}

static void passes_both_ways(void **state)
{
    struct fixture f;

    open_link(&f);
    SEND(f.client, STARTUP QUERY);
    SEND(f.server, "Z\0\0\0\5I");
    assert_true(pump(&f));
    EXPECT(f.server, STARTUP QUERY);
    EXPECT(f.client, "Z\0\0\0\5I");
    assert_string_equal(f.types, "\1QZ");
    assert_true(f.wake_ns == CLOCK_NEVER);
    close_link(&f);
}

static void sees_no_messages_in_tls_without_a_request(void **state)
{
    struct fixture f;

    open_link(&f);
    f.cut_type = 'Z';
    SEND(f.client, "\x16\3\1\2\0\1\0\1");
    SEND(f.server, "Z\0\0\0\5I");
    assert_true(pump(&f));
    EXPECT(f.server, "\x16\3\1\2\0\1\0\1");
    EXPECT(f.client, "Z\0\0\0\5I");
    assert_string_equal(f.types, "");
    close_link(&f);
    open_link(&f);
    f.clear_only = true;
    SEND(f.client, "\x16\3\1\2\0\1\0\1");
    assert_false(pump(&f));
    assert_true(f.was_cut);
    expect_nothing(f.server);
    close_link(&f);
}

static void cuts_before_and_after_a_message(void **state)
{
    struct fixture f;

    for (int side = CUT_BEFORE; side <= CUT_AFTER; side++) {
        open_link(&f);
        f.cut_type = 'Q';
        f.cut_side = (enum cut_side)side;
        SEND(f.client, STARTUP SYNC QUERY SYNC);
        assert_false(pump(&f));
        assert_true(f.was_cut);
        if (side == CUT_BEFORE)
            EXPECT(f.server, STARTUP SYNC);
        else
            EXPECT(f.server, STARTUP SYNC QUERY);
        close_link(&f);
    }
}

static void waits_for_the_rest_of_the_message_to_cut_after(void **state)
{
    struct fixture f;

    open_link(&f);
    f.cut_type = 'Q';
    f.cut_side = CUT_AFTER;
    SEND(f.client, STARTUP "Q\0\0\0\6;");
    assert_true(pump(&f));
    EXPECT(f.server, STARTUP "Q\0\0\0\6;");
    SEND(f.client, "\0" SYNC);
    assert_false(pump(&f));
    assert_true(f.was_cut);
    EXPECT(f.server, "\0");
    close_link(&f);
}

static void holds_one_way_and_hides_the_end(void **state)
{
    struct fixture f;

    open_link(&f);
    f.conditions.hold[MESSAGE_SERVER] = true;
    SEND(f.client, STARTUP);
    SEND(f.server, "Z\0\0\0\5I");
    shutdown(f.server, SHUT_WR);
    assert_true(pump(&f));
    EXPECT(f.server, STARTUP);
    expect_nothing(f.client);
    assert_int_equal(link_withheld(f.link, MESSAGE_SERVER), 6);
    f.conditions.hold[MESSAGE_SERVER] = false;
    assert_false(pump(&f));
    assert_false(f.was_cut);
    EXPECT(f.client, "Z\0\0\0\5I");
    close_link(&f);
}

static void delays_in_order(void **state)
{
    struct fixture f;

    open_link(&f);
    f.conditions.delay_ns = 30 * NS_PER_MS;
    SEND(f.client, STARTUP);
    assert_true(pump(&f));
    expect_nothing(f.server);
    assert_true(f.wake_ns == f.now_ns + 30 * NS_PER_MS);
    // The delay is over before the first bytes are due. Later bytes must not overtake those.
    f.conditions.delay_ns = 0;
    SEND(f.client, QUERY);
    f.now_ns += 10 * NS_PER_MS;
    assert_true(pump(&f));
    expect_nothing(f.server);
    f.now_ns += 20 * NS_PER_MS;
    assert_true(pump(&f));
    EXPECT(f.server, STARTUP QUERY);
    close_link(&f);
}

static void throttles(void **state)
{
    struct fixture f;

    open_link(&f);
    SEND(f.client, STARTUP);
    assert_true(pump(&f));
    EXPECT(f.server, STARTUP);
    // The bytes before the throttle cost nothing.
    f.conditions.rate = 200; // bytes per second
    SEND(f.client, QUERY SYNC);
    assert_true(pump(&f));
    expect_nothing(f.server);
    f.now_ns += 50 * NS_PER_MS;
    assert_true(pump(&f));
    EXPECT(f.server, QUERY "S\0\0");
    assert_true(f.wake_ns < CLOCK_NEVER);
    close_link(&f);
}

static void ends_at_its_limit(void **state)
{
    struct fixture f;

    open_link(&f);
    f.conditions.limit = sizeof(STARTUP) - 1 + 4;
    SEND(f.client, STARTUP);
    assert_true(pump(&f));
    EXPECT(f.server, STARTUP);
    SEND(f.server, "Z\0\0\0\5I");
    assert_false(pump(&f));
    assert_false(f.was_cut);
    EXPECT(f.client, "Z\0\0\0");
    close_link(&f);
}

static void passes_pieces(void **state)
{
    struct fixture f;

    open_link(&f);
    SEND(f.client, STARTUP);
    assert_true(pump(&f));
    EXPECT(f.server, STARTUP);
    f.conditions.slice = 4;
    f.conditions.slice_gap_ns = 10;
    f.now_ns = 1000;
    SEND(f.server, "Z\0\0\0\5I");
    assert_true(pump(&f));
    EXPECT(f.client, "Z\0\0\0");
    assert_true(f.wake_ns == 1010);
    assert_true(pump(&f));
    expect_nothing(f.client);
    f.now_ns = 1010;
    assert_true(pump(&f));
    EXPECT(f.client, "\5I");
    close_link(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ends_at_its_limit),
        cmocka_unit_test(passes_pieces),
        cmocka_unit_test(passes_both_ways),
        cmocka_unit_test(sees_no_messages_in_tls_without_a_request),
        cmocka_unit_test(cuts_before_and_after_a_message),
        cmocka_unit_test(waits_for_the_rest_of_the_message_to_cut_after),
        cmocka_unit_test(holds_one_way_and_hides_the_end),
        cmocka_unit_test(delays_in_order),
        cmocka_unit_test(throttles),
    };
    return cmocka_run_group_tests_name("harness.link", tests, NULL, NULL);
}
