#include "base/unit.h"
#include "ledger/ledger.h"

enum { SAMPLES = 20 };

struct fixture {
    struct fault_spec specs[2];
    struct fault_record faults[2];
    struct probe_sample flushes[SAMPLES];
    bool there[SAMPLES];
    struct ledger ledger;
};

// The probe commits every 100 ms, each within 1 ms. The server is away from 900 to 1050 ms and from
// 1500 to 1650 ms.
static void tell(struct fixture *f, const char *verb)
{
    *f = (struct fixture){.ledger = {.faults = f->faults,
                              .fault_count = 2,
                              .flushes = f->flushes,
                              .flush_count = SAMPLES,
                              .start_ns = NS_PER_S}};
    for (int i = 0; i < SAMPLES; i++) {
        bool away = i == 9 || i == 10 || i == 15 || i == 16;
        f->flushes[i] = (struct probe_sample){
            .due_ns = NS_PER_S + i * (100 * NS_PER_MS), .took_ns = away ? CLOCK_NEVER : NS_PER_MS};
        f->there[i] = !away;
    }
    for (int i = 0; i < 2; i++) {
        int64_t began_ns = NS_PER_S + (i == 0 ? 890 : 1490) * NS_PER_MS;
        f->specs[i].verb = verb_find(verb);
        f->faults[i] = (struct fault_record){
            .spec = &f->specs[i], .began_ns = began_ns, .ended_ns = began_ns + 160 * NS_PER_MS};
    }
}

static void nothing_is_lost(void **state)
{
    struct fixture f;

    tell(&f, "crash-server");
    ledger_date_losses(&f.ledger, f.faults, f.there);
    assert_true(f.faults[0].left_known && f.faults[1].left_known);
    assert_int_equal(f.faults[0].left_ns, 0);
    assert_int_equal(f.faults[1].left_ns, 0);
}

static void the_last_commit_before_the_first_gap_is_the_date(void **state)
{
    struct fixture f;

    tell(&f, "promote-standby");
    f.there[7] = f.there[8] = false;
    f.there[14] = false;
    ledger_date_losses(&f.ledger, f.faults, f.there);
    assert_int_equal(f.faults[0].left_ns, NS_PER_S + 601 * NS_PER_MS);
    assert_int_equal(f.faults[1].left_ns, NS_PER_S + 1301 * NS_PER_MS);
}

static void what_the_provider_knows_stays(void **state)
{
    struct fixture f;

    tell(&f, "kill-leader");
    f.faults[0].left_known = true;
    f.faults[0].left_ns = 5;
    f.there[7] = f.there[8] = false;
    ledger_date_losses(&f.ledger, f.faults, f.there);
    assert_int_equal(f.faults[0].left_ns, 5);
}

static void a_fault_of_the_collector_loses_nothing(void **state)
{
    struct fixture f;

    tell(&f, "kill-collector");
    ledger_date_losses(&f.ledger, f.faults, f.there);
    assert_false(f.faults[0].left_known);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_is_lost),
        cmocka_unit_test(the_last_commit_before_the_first_gap_is_the_date),
        cmocka_unit_test(what_the_provider_knows_stays),
        cmocka_unit_test(a_fault_of_the_collector_loses_nothing),
    };
    return cmocka_run_group_tests_name("harness.lost", tests, NULL, NULL);
}
