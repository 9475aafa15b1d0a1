#include "base/unit.h"
#include "timing/backoff.h"

static void stays_between_start_and_cap(void **state)
{
    for (uint64_t seed = 0; seed < 200; seed++) {
        struct backoff b;
        backoff_init(&b, seed);
        int64_t last = backoff_next_ns(&b, BACKOFF_CAP_NS);
        assert_in_range(last, BACKOFF_START_NS / 5, BACKOFF_START_NS);
        last = BACKOFF_START_NS;
        for (int i = 0; i < 100; i++) {
            int64_t next = backoff_next_ns(&b, BACKOFF_CAP_NS);
            int64_t most = 3 * last < BACKOFF_CAP_NS ? 3 * last : BACKOFF_CAP_NS;
            assert_in_range(next, BACKOFF_START_NS, most);
            last = next;
        }
    }
}

static void grows_and_begins_again(void **state)
{
    struct backoff b;
    int64_t longest = 0;

    backoff_init(&b, 1);
    for (int i = 0; i < 100; i++) {
        int64_t next = backoff_next_ns(&b, BACKOFF_CAP_NS);
        longest = next > longest ? next : longest;
    }
    assert_true(longest > BACKOFF_CAP_NS / 2);
    backoff_reset(&b);
    assert_true(backoff_next_ns(&b, BACKOFF_CAP_NS) <= BACKOFF_START_NS);
}

static void stays_short_when_told_to(void **state)
{
    struct backoff b;

    backoff_init(&b, 3);
    for (int i = 0; i < 100; i++)
        assert_true(backoff_next_ns(&b, BACKOFF_SOON_NS) <= BACKOFF_SOON_NS);
    // The same holds after longer delays.
    for (int i = 0; i < 100; i++)
        assert_in_range(backoff_next_ns(&b, BACKOFF_BRIEF_NS), BACKOFF_START_NS, BACKOFF_BRIEF_NS);
}

static void clients_spread_out(void **state)
{
    struct backoff a, b;
    int same = 0;

    backoff_init(&a, 1);
    backoff_init(&b, 2);
    for (int i = 0; i < 100; i++)
        same += backoff_next_ns(&a, BACKOFF_CAP_NS) == backoff_next_ns(&b, BACKOFF_CAP_NS);
    assert_true(same < 10);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(stays_between_start_and_cap),
        cmocka_unit_test(grows_and_begins_again),
        cmocka_unit_test(stays_short_when_told_to),
        cmocka_unit_test(clients_spread_out),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
