#include "base/unit.h"
#include "timing/backoff.h"

static struct retry a_retry(void)
{
    return (struct retry){.base_ms = 1000, .max_ms = 900000, .attempts = 8, .random = 1};
}

static void the_bound_doubles_up_to_its_cap(void **state)
{
    static const int64_t most[] = {
        2000, 4000, 8000, 16000, 32000, 64000, 128000, 256000, 512000, 900000, 900000};
    struct retry r = a_retry();

    for (int i = 0; i < (int)(sizeof most / sizeof most[0]); i++)
        assert_int_equal(retry_most_ms(&r, i + 1), most[i]);
    assert_int_equal(retry_most_ms(&r, 1000000), 900000);
}

// Full jitter: each tenth of the range gets a tenth of the delays.
static void every_time_in_between_is_as_likely(void **state)
{
    struct retry r = a_retry();
    int tenths[10] = {0};

    for (int i = 0; i < 100000; i++) {
        int64_t ms = retry_delay_ms(&r, 4);
        assert_in_range(ms, 0, 16000);
        tenths[ms * 10 / 16001]++;
    }
    for (int i = 0; i < 10; i++)
        assert_in_range(tenths[i], 9600, 10400);
}

static void the_last_one_is_the_eighth(void **state)
{
    struct retry r = a_retry();

    assert_false(retry_is_last(&r, 7));
    assert_true(retry_is_last(&r, 8));
    assert_true(retry_is_last(&r, 9));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_bound_doubles_up_to_its_cap),
        cmocka_unit_test(every_time_in_between_is_as_likely),
        cmocka_unit_test(the_last_one_is_the_eighth),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
