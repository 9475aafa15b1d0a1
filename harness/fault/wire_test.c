// The framing finds the same messages whatever the size of the pieces in which the bytes come.
#include "base/unit.h"
#include "fault/wire.h"

#define BYTES(text) text, sizeof(text) - 1

struct stream {
    enum message_sender sender;
    bool after_request; // the server is about to answer a request for encryption
    const char *bytes;
    size_t len;
    const char *names; // the names of the expected messages, one after another
    enum wire_phase phase;
};

static const struct stream streams[] = {
    {MESSAGE_CLIENT, false,
        BYTES("\0\0\0\x11\0\3\0\0user\0me\0\0"
              "Q\0\0\0\6;\0S\0\0\0\4"),
        "Startup Query Sync ", WIRE_MESSAGES},
    {MESSAGE_CLIENT, false,
        BYTES("\0\0\0\x08\x04\xd2\x16\x2f"
              "\0\0\0\x09\0\3\0\0\0X\0\0\0\4"),
        "SSLRequest Startup Terminate ", WIRE_MESSAGES},
    {MESSAGE_CLIENT, false, BYTES("\0\0\0\x10\x04\xd2\x16\x2e\0\0\0\1\0\0\0\2"), "CancelRequest ",
        WIRE_STARTUP},
    {MESSAGE_CLIENT, false, BYTES("GET / HTTP/1.1\r\n\r\n"), "", WIRE_OPAQUE},
    {MESSAGE_SERVER, false,
        BYTES("R\0\0\0\x08\0\0\0\0Z\0\0\0\5I"
              "C\0\0\0\x0dUPDATE 1\0A\0\0\0\4"),
        "Authentication ReadyForQuery CommandComplete NotificationResponse ", WIRE_MESSAGES},
    {MESSAGE_SERVER, true, BYTES("NR\0\0\0\x08\0\0\0\0"), "EncryptionAnswer Authentication ",
        WIRE_MESSAGES},
    {MESSAGE_SERVER, true, BYTES("S\x16\3\1"), "EncryptionAnswer ", WIRE_OPAQUE},
    {MESSAGE_SERVER, true, BYTES("E\0\0\0\5\0"), "ErrorResponse ", WIRE_MESSAGES},
    {MESSAGE_SERVER, false, BYTES("C\0\0\0\0\0"), "", WIRE_OPAQUE},
    // 2 is our own number for a request for encryption; the protocol has no such type.
    {MESSAGE_CLIENT, false,
        BYTES("\0\0\0\x09\0\3\0\0\0"
              "\2\0\0\0\4"),
        "Startup ", WIRE_OPAQUE},
};

// Hands over at most `step` further bytes at a time, as a socket might.
static void follow(const struct stream *s, size_t step)
{
    struct wire w;
    char names[200] = "";
    size_t passed = 0, end = 0;

    wire_init(&w, s->sender);
    if (s->after_request)
        wire_expect_answer(&w);
    for (size_t there = step; passed < s->len; there += step) {
        size_t len = there < s->len ? there : s->len;
        struct wire_message m;
        while (passed < len) {
            if (w.left == 0 && wire_begin(&w, s->bytes + passed, len - passed, &m)) {
                end += (size_t)snprintf(
                    names + end, sizeof names - end, "%s ", message_name(s->sender, m.type));
                assert_true(end < sizeof names);
            }
            size_t n = wire_pass(&w, len - passed);
            if (n == 0)
                break;
            passed += n;
        }
        assert_true(there < s->len + step);
    }
    assert_string_equal(names, s->names);
    assert_int_equal(w.phase, s->phase);
    assert_int_equal(w.left, 0);
}

static void finds_the_same_messages_in_pieces_of_any_size(void **state)
{
    for (size_t i = 0; i < sizeof streams / sizeof *streams; i++) {
        for (size_t step = 1; step <= streams[i].len; step++)
            follow(&streams[i], step);
    }
}

static void waits_for_a_command_tag(void **state)
{
    static const char bytes[] = "C\0\0\0\x0dUPDATE 1";
    struct message_kind kind;
    struct wire_message m;
    struct wire w;
    struct err e;

    wire_init(&w, MESSAGE_SERVER);
    assert_false(wire_begin(&w, bytes, sizeof bytes - 2, &m));
    assert_true(wire_begin(&w, bytes, sizeof bytes, &m));
    assert_int_equal(m.len, 14);
    assert_true(message_kind_parse("server CommandComplete UPDATE", &kind, &e));
    assert_true(message_tag_fits(&kind, m.text, m.text_len));
    assert_true(message_kind_parse("server CommandComplete INSERT", &kind, &e));
    assert_false(message_tag_fits(&kind, m.text, m.text_len));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(finds_the_same_messages_in_pieces_of_any_size),
        cmocka_unit_test(waits_for_a_command_tag),
    };
    return cmocka_run_group_tests_name("harness.wire", tests, NULL, NULL);
}
