#include "timing/flow.h"

#include "base/unit.h"

#define MS NS_PER_MS
#define LIMIT 500
#define TIMEOUT NS_PER_S

// Returns a flow after a stretch of 100 ms at this rate.
static struct flow at_rate(int per_s)
{
    struct flow f = {0};

    flow_count(&f, true, per_s / 10, 100 * MS);
    return f;
}

static int64_t pause_ms(const struct flow *f, bool looking, int waiting)
{
    int64_t ns = flow_pause_ns(f, looking, waiting, LIMIT, TIMEOUT);

    return ns == CLOCK_NEVER ? -1 : (ns + MS / 2) / MS;
}

static void a_slow_stream_is_announced(void **state)
{
    struct flow none = {0}, f;

    assert_int_equal(pause_ms(&none, false, 0), -1);
    assert_int_equal(pause_ms(&none, true, 0), -1);
    f = at_rate(70);
    assert_int_equal(pause_ms(&f, false, 0), -1);
    f = at_rate(90);
    assert_int_equal(pause_ms(&f, false, 1), 50);
}

// At a constant rate the decision does not change.
static void looking_goes_on_at_half_the_rate(void **state)
{
    struct flow f = at_rate(50);

    assert_int_equal(pause_ms(&f, false, 1), -1);
    assert_int_equal(pause_ms(&f, true, 1), 50);
    f = at_rate(30);
    assert_int_equal(pause_ms(&f, true, 0), -1);
}

static void the_next_look_is_when_the_batch_is_full(void **state)
{
    struct flow f = at_rate(10000);

    assert_int_equal(pause_ms(&f, false, 1), 50);
    assert_int_equal(pause_ms(&f, true, 300), 20);
    assert_int_equal(pause_ms(&f, true, 440), 6);
    // There is a pause between any two looks.
    assert_int_equal(pause_ms(&f, true, 499), 2);
    assert_int_equal(pause_ms(&f, true, 500), 2);
    assert_int_equal(pause_ms(&f, true, 900), 2);
}

// The first token's timeout begins at the look before the one that finds it.
static void the_first_token_is_found_at_once(void **state)
{
    struct flow f = at_rate(200);

    assert_int_equal(pause_ms(&f, true, 0), 2);
    assert_int_equal(pause_ms(&f, true, 1), 50);
    assert_true(flow_pause_ns(&f, true, 0, LIMIT, 4 * MS) == CLOCK_NEVER);
}

// A token without an announcement is found within a quarter of the timeout.
static void a_short_timeout_needs_frequent_looks(void **state)
{
    struct flow f = at_rate(500);

    assert_true(flow_pause_ns(&f, false, 1, LIMIT, 40 * MS) == 10 * MS);
    assert_true(flow_pause_ns(&f, false, 0, LIMIT, 20 * MS) == CLOCK_NEVER);
    assert_true(flow_pause_ns(&f, true, 1, LIMIT, 20 * MS) == 5 * MS);
    assert_true(flow_pause_ns(&f, true, 0, LIMIT, 0) == CLOCK_NEVER);
}

static void a_small_batch_is_full_too_soon(void **state)
{
    struct flow f = at_rate(1000);

    assert_true(flow_pause_ns(&f, true, 0, 7, TIMEOUT) == CLOCK_NEVER);
    assert_true(flow_pause_ns(&f, true, 1, 8, TIMEOUT) == 7 * MS);
}

// 5000 tokens are not read again every 50 ms.
static void waiting_tokens_are_seldom_read_again(void **state)
{
    struct flow f = at_rate(500);

    assert_true(flow_pause_ns(&f, true, 400, 5000, 5 * TIMEOUT) == 50 * MS);
    assert_true(flow_pause_ns(&f, true, 3000, 5000, 5 * TIMEOUT) == 300 * MS);
    assert_true(flow_pause_ns(&f, true, 3000, 5000, TIMEOUT) == 250 * MS);
}

// 25 tokens in 100 ms count as fast; a shorter burst never does.
static void the_rate_is_that_of_a_whole_stretch(void **state)
{
    struct flow f = {0};

    for (int at = 0; at < 100; at += 10) {
        flow_count(&f, false, 10 + at / 4, (1000 + at) * MS);
        assert_int_equal(pause_ms(&f, false, 400), -1);
    }
    flow_count(&f, false, 35, 1100 * MS);
    assert_int_equal(pause_ms(&f, false, 400), 50);
    for (int burst = 0; burst < 10; burst++)
        for (int at = 0; at < 95; at++) {
            flow_count(&f, false, 100 + 190 * burst + 2 * at, (2000 + 300 * burst + at) * MS);
            assert_int_equal(pause_ms(&f, false, 400), -1);
        }
}

// While we look nobody announces, so a long time between two looks does not mean that no token
// came.
static void looks_may_be_far_apart(void **state)
{
    struct flow f = at_rate(1000);

    flow_count(&f, true, 400, 400 * MS);
    assert_int_equal(pause_ms(&f, true, 400), 50);
    flow_count(&f, true, 401, 450 * MS);
    assert_int_equal(pause_ms(&f, true, 499), 2);
    flow_count(&f, true, 402, 500 * MS);
    assert_int_equal(pause_ms(&f, true, 402), -1);
}

static void a_count_that_fell_keeps_the_rate(void **state)
{
    struct flow f = at_rate(1000);

    flow_count(&f, true, 20, 200 * MS);
    assert_int_equal(pause_ms(&f, true, 20), 50);
    flow_count(&f, true, 20, 300 * MS);
    assert_int_equal(pause_ms(&f, true, 20), -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_slow_stream_is_announced),
        cmocka_unit_test(looking_goes_on_at_half_the_rate),
        cmocka_unit_test(the_next_look_is_when_the_batch_is_full),
        cmocka_unit_test(the_first_token_is_found_at_once),
        cmocka_unit_test(a_short_timeout_needs_frequent_looks),
        cmocka_unit_test(a_small_batch_is_full_too_soon),
        cmocka_unit_test(waiting_tokens_are_seldom_read_again),
        cmocka_unit_test(the_rate_is_that_of_a_whole_stretch),
        cmocka_unit_test(looks_may_be_far_apart),
        cmocka_unit_test(a_count_that_fell_keeps_the_rate),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
