#include "timing/owners.h"

#include "base/unit.h"

#define GRACE (500 * NS_PER_MS)
#define LEASE (30 * NS_PER_S)

static void tell(struct owners *o, int64_t number, int64_t renewed, bool alive, int64_t at_ns)
{
    owners_note(o, (struct owner){.number = number, .renewed = renewed, .alive = alive}, at_ns);
}

static int64_t due(struct owners *o, int64_t at_ns)
{
    struct owner *owner = owners_due(o, GRACE, LEASE, at_ns);

    return owner ? owner->number : -1;
}

static void the_dead_have_their_grace_each(void **state)
{
    struct owners o = {0};

    tell(&o, 1, 0, false, 0);
    owners_end_look(&o, 0);
    tell(&o, 1, 0, false, GRACE / 2);
    tell(&o, 2, 0, false, GRACE / 2);
    owners_end_look(&o, 0);
    assert_int_equal(due(&o, GRACE - 1), -1);
    assert_int_equal(due(&o, GRACE), 1);
    // Owner 1 comes back. When it goes, its grace begins again.
    tell(&o, 1, 0, true, GRACE);
    tell(&o, 2, 0, false, GRACE);
    owners_end_look(&o, 0);
    assert_int_equal(due(&o, GRACE), -1);
    assert_int_equal(due(&o, GRACE + GRACE / 2), 2);
}

// One look at the only other owner; `busy`: it has something in hand.
static void look(struct owners *o, int64_t renewed, bool busy, int64_t at_ns)
{
    owners_note(
        o, (struct owner){.number = 1, .renewed = renewed, .alive = true, .busy = busy}, at_ns);
    owners_end_look(o, at_ns);
}

// Looks every half second, up to and including `until`. Returns when the owner is due, or 0.
static int64_t watch(struct owners *o, int64_t renewed, int64_t from_ns, int64_t until_ns)
{
    for (int64_t at = from_ns; at <= until_ns; at += NS_PER_S / 2) {
        look(o, renewed, true, at);
        if (due(o, at) == 1)
            return at;
    }
    return 0;
}

// The lease is a counter and not a time: we time it by our clock, and only while we watch.
static void the_living_keep_their_lease_by_renewing(void **state)
{
    struct owners o = {0};

    assert_int_equal(watch(&o, 7, 0, LEASE - NS_PER_S), 0);
    assert_int_equal(watch(&o, 8, LEASE - NS_PER_S / 2, 2 * LEASE - NS_PER_S), 0);
    assert_int_equal(watch(&o, 8, 2 * LEASE - NS_PER_S / 2, 3 * LEASE), 2 * LEASE - NS_PER_S / 2);
    // What it had is freed, so we look at it again after another lease.
    owners_freed(&o, 1, 2 * LEASE);
    assert_int_equal(watch(&o, 8, 2 * LEASE, 4 * LEASE), 3 * LEASE);
}

static void an_unwatched_collector_is_not_due(void **state)
{
    struct owners o = {0};

    look(&o, 7, true, 0);
    // We were stopped for longer than a lease.
    assert_int_equal(due(&o, 2 * LEASE), -1);
    look(&o, 7, true, 2 * LEASE);
    assert_int_equal(due(&o, 2 * LEASE), -1);
    // The owner is idle for a long time, and then has something in hand.
    look(&o, 7, false, 3 * LEASE);
    for (int64_t at = 3 * LEASE; at < 6 * LEASE; at += NS_PER_S / 2)
        look(&o, 7, false, at);
    look(&o, 7, true, 6 * LEASE);
    assert_int_equal(due(&o, 6 * LEASE), -1);
    assert_int_equal(watch(&o, 7, 6 * LEASE, 8 * LEASE), 7 * LEASE);
}

static void an_unlisted_collector_is_forgotten(void **state)
{
    struct owners o = {0};

    assert_false(owners_need_looks(&o));
    for (int i = 0; i < 2 * OWNERS_MAX; i++)
        tell(&o, i, 10 * (int64_t)i, false, 0);
    owners_end_look(&o, 0);
    assert_int_equal(o.n, OWNERS_MAX);
    assert_true(owners_need_looks(&o));
    assert_int_equal(due(&o, LEASE), 0);
    tell(&o, 4, 0, true, 0);
    owners_end_look(&o, 0);
    assert_int_equal(o.n, 1);
    assert_false(owners_need_looks(&o));
    owners_note(&o, (struct owner){.number = 4, .alive = true, .busy = true}, 0);
    owners_end_look(&o, 0);
    assert_true(owners_need_looks(&o));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_dead_have_their_grace_each),
        cmocka_unit_test(the_living_keep_their_lease_by_renewing),
        cmocka_unit_test(an_unwatched_collector_is_not_due),
        cmocka_unit_test(an_unlisted_collector_is_forgotten),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
