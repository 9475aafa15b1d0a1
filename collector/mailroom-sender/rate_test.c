#include "base/unit.h"
#include "mailroom-sender/rate.h"

static struct err e;

// Draws the same numbers at each call of the test.
static unsigned draw(unsigned *seed)
{
    *seed = *seed * 1103515245u + 12345u;
    return *seed >> 16;
}

// No window of w seconds sees more than burst + w × rate mails, however many are asked for.
static void no_window_sees_more(void **state)
{
    enum { MAILS = 400 };
    int64_t at[MAILS], now = 0;
    unsigned seed = 1;
    struct rate r;

    rate_init(&r, 14, 5, 0, now);
    for (int i = 0; i < MAILS; i++) {
        now += draw(&seed) % 3 == 0 ? draw(&seed) % 500 * NS_PER_MS : 0;
        now = rate_next_ns(&r, now);
        assert_true(rate_next_ns(&r, now) == now);
        assert_true(rate_count(&r, now, 0, &e));
        at[i] = now;
    }
    for (int i = 0; i < MAILS; i++)
        for (int k = i; k < MAILS; k++) {
            double window_s = (double)(at[k] - at[i]) / (double)NS_PER_S;
            assert_true(k - i + 1 <= 5 + window_s * 14 + 1e-6);
        }
}

static void waits_no_longer_than_it_must(void **state)
{
    struct rate r;
    int64_t now = 0;

    rate_init(&r, 10, 1, 0, now);
    for (int i = 0; i < 100; i++) {
        now = rate_next_ns(&r, now);
        assert_true(rate_count(&r, now, 0, &e));
    }
    assert_in_range(now, 9900 * NS_PER_MS, 9901 * NS_PER_MS);
}

static void without_a_rate_nothing_waits(void **state)
{
    struct rate r;

    rate_init(&r, 0, 0, 0, 7);
    for (int i = 0; i < 1000; i++) {
        assert_int_equal(rate_next_ns(&r, 7), 7);
        assert_true(rate_count(&r, 7, 0, &e));
    }
    assert_false(rate_spent(&r, 0));
}

static void at_a_rate_near_zero_the_next_waits_long(void **state)
{
    struct rate r;

    rate_init(&r, 1e-300, 1, 0, 7);
    assert_int_equal(rate_next_ns(&r, 7), 7);
    assert_true(rate_count(&r, 7, 0, &e));
    assert_true(rate_next_ns(&r, 7) > 365 * (int64_t)86400 * NS_PER_S);
}

static void a_day_outlives_the_sender(void **state)
{
    char path[] = "/tmp/sender-rate.XXXXXX";
    const int64_t noon = 20000 * 86400 + 43200;
    struct rate r;

    close(mkstemp(path));
    for (int round = 0; round < 4; round++) {
        rate_init(&r, 0, 1, 4, 0);
        assert_true(rate_open(&r, path, &e));
        assert_int_equal(rate_spent(&r, noon), round >= 2);
        if (round < 2)
            for (int i = 0; i < 2; i++)
                assert_true(rate_count(&r, 0, noon, &e));
        // A clock that is set back does not allow the day's mails again.
        assert_int_equal(rate_spent(&r, noon - 86400), round >= 1);
        rate_close(&r);
    }
    rate_init(&r, 0, 1, 4, 0);
    assert_true(rate_open(&r, path, &e));
    assert_false(rate_spent(&r, noon + 86400));
    rate_close(&r);
    FILE *f = fopen(path, "w");
    fputs("something else\n", f);
    fclose(f);
    assert_false(rate_open(&r, path, &e));
    assert_int_equal(e.kind, ERR_USAGE);
    rate_close(&r);
    unlink(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_window_sees_more),
        cmocka_unit_test(waits_no_longer_than_it_must),
        cmocka_unit_test(without_a_rate_nothing_waits),
        cmocka_unit_test(at_a_rate_near_zero_the_next_waits_long),
        cmocka_unit_test(a_day_outlives_the_sender),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
