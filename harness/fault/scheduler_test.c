#include "base/unit.h"
#include "fault/scheduler.h"

#define RUN_NS (1000 * NS_PER_S) // the run's clock does not begin at 0

struct fixture {
    struct fault_spec specs[3];
    struct fault_record records[3];
    size_t count;
};

// Adds a fault with its planned and its real beginning, in milliseconds after the load's start.
static struct fault_record *begin(
    struct fixture *f, const char *verb, int64_t planned_ms, int64_t began_ms, int64_t for_ms)
{
    struct fault_record *r = &f->records[f->count];

    f->specs[f->count] = (struct fault_spec){.verb = verb_find(verb), .for_ns = for_ms * NS_PER_MS};
    *r = (struct fault_record){.spec = &f->specs[f->count],
        .planned_ns = RUN_NS + planned_ms * NS_PER_MS,
        .sought_ns = RUN_NS + began_ms * NS_PER_MS,
        .began_ns = RUN_NS + began_ms * NS_PER_MS};
    f->count++;
    return r;
}

static void assert_next(struct fixture *f, const struct fault_record *want, int64_t at_ms)
{
    int64_t at_ns;

    assert_ptr_equal(scheduler_next_end(f->records, f->count, &at_ns), want);
    assert_int_equal(at_ns, want ? RUN_NS + at_ms * NS_PER_MS : CLOCK_NEVER);
}

static void the_first_to_end_comes_first(void **state)
{
    struct fixture f = {0};

    assert_next(&f, NULL, 0);
    struct fault_record *longer = begin(&f, "delay", 1000, 1000, 5000);
    struct fault_record *shorter = begin(&f, "pause-reader", 2000, 2000, 1000);
    assert_next(&f, shorter, 3000);
    shorter->undone = true;
    assert_next(&f, longer, 6000);
    longer->undone = true;
    assert_next(&f, NULL, 0);
}

static void a_late_one_lasts_as_long(void **state)
{
    struct fixture f = {0};

    assert_next(&f, begin(&f, "pause-collector", 1000, 4000, 2000), 6000);
    // The clock of the fault may stand a little behind that of the plan.
    f.records[0].began_ns = f.records[0].planned_ns - 1;
    assert_next(&f, &f.records[0], 3000);
}

// A fault with a session of its own cannot end while the server is away. It would wait for the
// server, and the fault that brings the server back would wait for it.
static void sessions_wait_for_the_server(void **state)
{
    static const char *const away[] = {"pause-server", "stop-server"};

    for (size_t i = 0; i < sizeof away / sizeof *away; i++) {
        struct fixture f = {0};
        struct fault_record *vacuum = begin(&f, "long-vacuum", 1000, 1000, 2000);
        struct fault_record *server = begin(&f, away[i], 2000, 2000, 3000);
        struct fault_record *network = begin(&f, "delay", 2500, 2500, 1000);

        vacuum->kept = &f;
        assert_next(&f, network, 3500);
        network->undone = true;
        assert_next(&f, server, 5000);
        server->undone = true;
        assert_next(&f, vacuum, 3000);
    }
}

static void the_next_waits_for_a_late_one_that_it_collides_with(void **state)
{
    struct fixture f = {0};

    struct fault_record *late = begin(&f, "stop-server", 1000, 4000, 1000);
    begin(&f, "kill-server", 3000, 0, 0);
    assert_int_equal(scheduler_begin_ns(f.records, 1), RUN_NS + 5000 * NS_PER_MS);
    late->undone = true;
    assert_int_equal(scheduler_begin_ns(f.records, 1), RUN_NS + 3000 * NS_PER_MS);
    late->undone = false;
    f.specs[1].verb = verb_find("kill-collector");
    assert_int_equal(scheduler_begin_ns(f.records, 1), RUN_NS + 3000 * NS_PER_MS);
    f.records[1].planned_ns = RUN_NS + 2000 * NS_PER_MS; // the end that the plan has for the first
                                                         // fault
    assert_int_equal(scheduler_begin_ns(f.records, 1), RUN_NS + 5000 * NS_PER_MS);
}

static void another_fault_explains_a_miss(void **state)
{
    struct fixture f = {0};

    struct fault_record *server = begin(&f, "stop-server", 1000, 1000, 1000);
    struct fault_record *horizon = begin(&f, "hold-horizon", 1000, 1000, 9000);
    struct fault_record *miss = begin(&f, "terminate-backend", 4000, 4000, 0);
    server->ok = horizon->ok = true;
    assert_ptr_equal(scheduler_culprit(f.records, 3, miss, NS_PER_S), server);
    server->undone = true;
    server->ended_ns = RUN_NS + 2000 * NS_PER_MS;
    assert_ptr_equal(scheduler_culprit(f.records, 3, miss, 2 * NS_PER_S), server);
    assert_null(scheduler_culprit(f.records, 3, miss, NS_PER_S));
    // A fault that ends a collector for good is at work until the end of the run.
    f.specs[0].verb = verb_find("kill-collector");
    f.specs[0].for_ns = FOR_REST;
    assert_ptr_equal(scheduler_culprit(f.records, 3, miss, NS_PER_S), server);
    server->left_out = LEFT_OUT_BUSY;
    assert_null(scheduler_culprit(f.records, 3, miss, NS_PER_S));
    server->left_out = LEFT_OUT_NOT;
    server->ok = false;
    assert_null(scheduler_culprit(f.records, 3, miss, NS_PER_S));
}

static void a_wait_for_a_victim_ends_with_the_fault_that_hides_it(void **state)
{
    struct fixture f = {0};

    begin(&f, "hold-horizon", 1000, 1000, 500);
    struct fault_record *network = begin(&f, "partition", 1000, 1000, 2000);
    const int64_t at_ns = RUN_NS + 2000 * NS_PER_MS;
    assert_int_equal(
        scheduler_victim_deadline_ns(f.records, 2, at_ns, 2 * NS_PER_S), at_ns + NS_PER_S);
    assert_int_equal(
        scheduler_victim_deadline_ns(f.records, 2, at_ns, NS_PER_MS), at_ns + NS_PER_MS);
    network->undone = true;
    assert_int_equal(
        scheduler_victim_deadline_ns(f.records, 2, at_ns, 2 * NS_PER_S), at_ns + 2 * NS_PER_S);
}

static void a_victim_that_was_awaited_lives_for_a_while(void **state)
{
    struct fixture f = {0};
    const int64_t now_ns = RUN_NS + 2000 * NS_PER_MS;
    int64_t sum_ns = 0;

    struct fault_record *network = begin(&f, "partition", 1000, 1000, 1010);
    struct fault_record *r = begin(&f, "terminate-backend", 1500, 1500, 0);
    network->undone = true;
    assert_int_equal(scheduler_strike_ns(f.records, 1, r, now_ns, 1), now_ns);
    f.specs[1].every_ns = 300 * NS_PER_MS;
    for (uint64_t seed = 0; seed < 100; seed++) {
        int64_t at_ns = scheduler_strike_ns(f.records, 1, r, now_ns, seed);
        assert_in_range(at_ns, now_ns, now_ns + 300 * NS_PER_MS);
        assert_int_equal(at_ns, scheduler_strike_ns(f.records, 1, r, now_ns, seed));
        sum_ns += at_ns - now_ns;
    }
    assert_in_range(sum_ns / 100, 100 * NS_PER_MS, 200 * NS_PER_MS);
    // It does not wait past the end of a fault that may take the victim away again.
    network->undone = false;
    for (uint64_t seed = 0; seed < 100; seed++)
        assert_true(scheduler_strike_ns(f.records, 1, r, now_ns, seed) <= now_ns + 10 * NS_PER_MS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_victim_that_was_awaited_lives_for_a_while),
        cmocka_unit_test(the_first_to_end_comes_first),
        cmocka_unit_test(a_late_one_lasts_as_long),
        cmocka_unit_test(sessions_wait_for_the_server),
        cmocka_unit_test(the_next_waits_for_a_late_one_that_it_collides_with),
        cmocka_unit_test(another_fault_explains_a_miss),
        cmocka_unit_test(a_wait_for_a_victim_ends_with_the_fault_that_hides_it),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
