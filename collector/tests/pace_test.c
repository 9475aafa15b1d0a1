#include "base/unit.h"
#include "pace_sim.h"
#include "timing/pace.h"

#define MS NS_PER_MS
#define LEAST_NS (20 * MS)
#define MOST_NS (500 * MS)

// Makes tokens arrive at equal gaps. Returns the time of the last.
static int64_t arrive(struct pace *p, int64_t now_ns, int count, int64_t gap_ns)
{
    for (int i = 0; i < count; i++)
        pace_arrived(p, now_ns += gap_ns);
    return now_ns;
}

static int64_t wait_ns(const struct pace *p)
{
    return pace_due_ns(p, NS_PER_S, MOST_NS) - NS_PER_S;
}

static void batches_are_near_those_of_the_best_fixed_pair(void **state)
{
    for (int i = 0; i < pace_load_count; i++) {
        const struct pace_load *l = &pace_loads[i];
        struct pace_figures f = pace_compare(l);
        char name[80];
        if (f.share < 0.95)
            fail_msg("%s, limit %d: batches of %.2f, p99 %.1f ms; (%d, %.0f ms) has %.2f",
                pace_load_name(l, name, sizeof name), l->limit, f.batch, f.p99_ms, f.best_limit,
                f.best_ms, f.best);
    }
}

static void a_trickle_does_not_wait(void **state)
{
    struct pace p;

    pace_init(&p, LEAST_NS, MOST_NS, 10);
    int64_t now_ns = NS_PER_S;
    for (int i = 0; i < 1000; i++) {
        now_ns = arrive(&p, now_ns, 1, 3 * LEAST_NS);
        assert_int_equal(wait_ns(&p), 0);
    }
    // One pair of tokens changes nothing.
    arrive(&p, now_ns, 1, MS);
    assert_int_equal(wait_ns(&p), 0);
}

static void a_burst_is_waited_for_at_once(void **state)
{
    struct pace p;

    pace_init(&p, LEAST_NS, MOST_NS, 10);
    int64_t now_ns = arrive(&p, NS_PER_S, 100, 3 * LEAST_NS);
    arrive(&p, now_ns, 4, MS);
    assert_int_equal(wait_ns(&p), LEAST_NS);
}

// Two tokens within the lower bound make it worth waiting for the upper bound. One token in three
// times the lower bound does not.
static void one_token_in_the_lower_bound_is_worth_the_upper_bound(void **state)
{
    struct pace p;

    pace_init(&p, LEAST_NS, MOST_NS, 1000);
    int64_t now_ns = arrive(&p, NS_PER_S, 20000, LEAST_NS / 2);
    assert_int_equal(wait_ns(&p), MOST_NS);
    now_ns =
        arrive(&p, now_ns, 20000, LEAST_NS * 9 / 10); // a gap between these two changes nothing
    assert_int_equal(wait_ns(&p), MOST_NS);
    arrive(&p, now_ns, 2000, 3 * LEAST_NS);
    assert_int_equal(wait_ns(&p), 0);
}

// A trickle after a busy hour: each token that waits in vain counts against the timeout.
static void few_tokens_wait_in_vain(void **state)
{
    struct pace p;
    int waited = 0;

    pace_init(&p, LEAST_NS, MOST_NS, 1000);
    int64_t now_ns = arrive(&p, NS_PER_S, 100000, LEAST_NS / 2);
    for (int i = 0; i < 1000; i++) {
        now_ns = arrive(&p, now_ns, 1, NS_PER_S);
        waited += wait_ns(&p) > 40 * MS;
    }
    assert_true(waited <= 100);
    assert_int_equal(wait_ns(&p), 0);
}

// A line that is filling is not held for longer than filling it takes.
static void a_limit_that_is_soon_reached_needs_no_long_wait(void **state)
{
    struct pace p;

    pace_init(&p, LEAST_NS, MOST_NS, 10);
    arrive(&p, NS_PER_S, 100000, 3 * MS);
    assert_int_equal(wait_ns(&p), 40 * MS);
}

static void a_fixed_window_waits_for_its_timeout(void **state)
{
    struct pace p;

    pace_init(&p, 0, MOST_NS, 10);
    arrive(&p, NS_PER_S, 10, MS);
    assert_int_equal(wait_ns(&p), MOST_NS);
}

static void equal_bounds_leave_one_timeout(void **state)
{
    struct pace p;

    pace_init(&p, LEAST_NS, LEAST_NS, 10);
    arrive(&p, NS_PER_S, 1000, MS);
    assert_int_equal(wait_ns(&p), LEAST_NS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_trickle_does_not_wait),
        cmocka_unit_test(a_burst_is_waited_for_at_once),
        cmocka_unit_test(one_token_in_the_lower_bound_is_worth_the_upper_bound),
        cmocka_unit_test(few_tokens_wait_in_vain),
        cmocka_unit_test(a_limit_that_is_soon_reached_needs_no_long_wait),
        cmocka_unit_test(a_fixed_window_waits_for_its_timeout),
        cmocka_unit_test(equal_bounds_leave_one_timeout),
        cmocka_unit_test(batches_are_near_those_of_the_best_fixed_pair),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
