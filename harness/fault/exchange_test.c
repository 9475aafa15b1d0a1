#include "base/unit.h"
#include "fault/exchange.h"

// Takes messages such as "cQ" or "sZI": the sender (c client, s server), the type, the content.
// Returns the state after the last one.
static enum exchange_state after(const char *const *messages)
{
    struct exchange x = {0};

    for (; *messages; messages++) {
        const char *text = *messages;
        struct wire_message m = {.type = (unsigned char)text[1], .text = text + 2};
        m.text_len = strlen(m.text);
        exchange_take(&x, *text == 'c' ? MESSAGE_CLIENT : MESSAGE_SERVER, &m);
    }
    return exchange_state(&x);
}

#define AFTER(...) after((const char *const[]){__VA_ARGS__, NULL})
#define OPENED "c\001", "sR", "sS", "sK", "sZI"

static void states_follow_the_messages(void **state)
{
    assert_int_equal(AFTER("c\001", "sR"), EXCHANGE_OPENING);
    assert_int_equal(AFTER(OPENED), EXCHANGE_IDLE);
    assert_int_equal(AFTER(OPENED, "sA"), EXCHANGE_NOTIFIED);
    assert_int_equal(AFTER(OPENED, "cP", "cB", "cE", "cS"), EXCHANGE_ASKED);
    assert_int_equal(AFTER(OPENED, "cQ", "sA"), EXCHANGE_ASKED);
    assert_int_equal(AFTER(OPENED, "cQ", "sT", "sD"), EXCHANGE_ANSWERED);
    assert_int_equal(AFTER(OPENED, "cQ", "sC", "sZT"), EXCHANGE_IN_TRANSACTION);
    assert_int_equal(AFTER(OPENED, "cQ", "sC", "sZI"), EXCHANGE_IDLE);
}

static void every_state_has_a_name(void **state)
{
    for (int i = 0; i < EXCHANGE_STATES; i++)
        assert_true(strlen(exchange_name((enum exchange_state)i)) > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(states_follow_the_messages),
        cmocka_unit_test(every_state_has_a_name),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
