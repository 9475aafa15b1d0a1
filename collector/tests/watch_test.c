#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/clock.h"
#include "lease/watch.h"

#define S NS_PER_S

static struct watch w;
static const char *why;

static bool look(int64_t renewed, bool connected, int64_t now_ns)
{
    watch_begin(&w, now_ns);
    watch_seen(&w, 7, renewed, connected, now_ns);
    return watch_end(&w);
}

static int64_t expired(int64_t now_ns)
{
    const struct watched *o = watch_expired(&w, 1 * S, 30 * S, now_ns, &why);

    return o ? o->owner : 0;
}

static void a_lost_session_gets_the_grace(void **state)
{
    (void)state;
    watch_restart(&w);
    look(1, true, 0);
    look(1, false, 5 * S);
    assert_int_equal(expired(5 * S), 0);
    assert_int_equal(expired(6 * S), 7);
    // The collector came back. When it goes again, the grace begins anew.
    look(1, true, 6 * S);
    assert_int_equal(expired(9 * S), 0);
    look(1, false, 9 * S);
    assert_int_equal(expired(9 * S), 0);
}

static void a_hanging_collector_gets_the_lease(void **state)
{
    (void)state;
    watch_restart(&w);
    look(1, true, 0);
    look(2, true, 20 * S);
    for (int s = 21; s <= 49; s++) {
        assert_int_equal(expired(s * S), 0);
        look(2, true, s * S);
    }
    assert_int_equal(expired(50 * S), 7);
    watch_forget(&w, 7);
    assert_int_equal(expired(50 * S), 0);
}

// The whole host was suspended for longer than a lease, and the other had no chance to renew its
// own.
static void a_pause_of_our_own_is_nobodys_lease(void **state)
{
    (void)state;
    watch_restart(&w);
    look(1, true, 0);
    look(1, true, 1 * S);
    assert_int_equal(expired(41 * S), 0);
    look(1, true, 41 * S);
    assert_int_equal(expired(41 * S), 0);
    look(2, true, 42 * S);
    assert_int_equal(expired(42 * S), 0);
}

// After a long outage and with an old counter, only what this session saw counts.
static void nothing_seen_before_counts(void **state)
{
    (void)state;
    watch_restart(&w);
    look(1, false, 0);
    watch_restart(&w);
    look(1, false, 1000 * S);
    assert_int_equal(expired(1000 * S), 0);
    assert_int_equal(expired(1001 * S), 7);
}

static void a_collector_that_left_is_forgotten(void **state)
{
    (void)state;
    watch_restart(&w);
    assert_false(look(1, false, 0));
    watch_begin(&w, 1 * S);
    assert_true(watch_end(&w));
    assert_int_equal(expired(1000 * S), 0);
    watch_begin(&w, 2 * S);
    assert_false(watch_end(&w));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_lost_session_gets_the_grace),
        cmocka_unit_test(a_hanging_collector_gets_the_lease),
        cmocka_unit_test(a_pause_of_our_own_is_nobodys_lease),
        cmocka_unit_test(nothing_seen_before_counts),
        cmocka_unit_test(a_collector_that_left_is_forgotten),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
