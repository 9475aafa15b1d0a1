#include "plan/plan_fixture.h"

static void faults_are_merged_in_order(void **state)
{
    static const struct {
        int64_t at_ms, end_ms;
        uint32_t spec;
    } want[] = {{500, 500, 0}, {1000, 1000, 0}, {1000, 3000, 1}, {1500, 1500, 0}, {9500, 10500, 2}};
    struct fixture *f = new_fixture(1, 10 * NS_PER_S, ARRIVALS_CONSTANT);

    f->faults[0] = (struct fault_spec){.verb = verb_find("terminate-backend"),
        .at_ns = 500 * NS_PER_MS,
        .every_ns = 500 * NS_PER_MS,
        .until_ns = 1999 * NS_PER_MS};
    f->faults[1] = (struct fault_spec){
        .verb = verb_find("kill-server"), .at_ns = NS_PER_S, .for_ns = 2 * NS_PER_S};
    f->faults[2] = (struct fault_spec){
        .verb = verb_find("pause-server"), .at_ns = 9500 * NS_PER_MS, .for_ns = NS_PER_S};
    f->s.fault_count = 3;
    make(f);
    assert_int_equal(f->p.fault_count, sizeof want / sizeof *want);
    for (size_t i = 0; i < f->p.fault_count; i++) {
        assert_int_equal(f->p.faults[i].at_ns, want[i].at_ms * NS_PER_MS);
        assert_int_equal(f->p.faults[i].end_ns, want[i].end_ms * NS_PER_MS);
        assert_int_equal(f->p.faults[i].spec, want[i].spec);
    }
    assert_int_equal(f->p.load_ns, 10 * NS_PER_S);
    assert_int_equal(f->p.end_ns, 10500 * NS_PER_MS);
    drop(f);
}

static void refused(struct fixture *f, const char *error)
{
    struct err e = {0};

    assert_false(plan_make(&f->p, &f->s, &e));
    assert_int_equal(e.kind, ERR_USAGE);
    assert_string_equal(e.text, error);
    drop(f);
}

static void too_much_is_refused(void **state)
{
    struct fixture *f = new_fixture(1000000, 21 * NS_PER_S, ARRIVALS_POISSON);

    refused(f, "the scenario's rates and phases come to more than 20000000 tokens, the most that a "
               "plan holds");

    f = new_fixture(1, 1000 * NS_PER_S, ARRIVALS_POISSON);
    f->faults[0] = (struct fault_spec){
        .verb = verb_find("kill-collector"), .every_ns = NS_PER_MS, .until_ns = 1000 * NS_PER_S};
    f->s.fault_count = 1;
    refused(f, "the scenario comes to more than 100000 faults, the most that a plan holds");
}

// Plans two faults that begin a second apart and last two seconds. The second is left out when they
// collide.
static void faults_collide_over_the_same_thing(void **state)
{
    enum {
        DELAY,
        THROTTLE,
        PARTITION,
        OUT,
        IN,
        STOP,
        STOP_0,
        STOP_1,
        CLOSE_0,
        SLOW,
        SLOW_1,
        HOLD,
        TERM,
        SLICE,
        LIMIT
    };
    static const struct {
        const char *verb;
        int instance;
        enum fault_direction direction;
        bool instant;
    } kinds[] = {
        [DELAY] = {"delay", 0, 0, false},
        [THROTTLE] = {"throttle", 0, 0, false},
        [PARTITION] = {"partition", 0, 0, false},
        [OUT] = {"half-open", 0, TO_SERVER, false},
        [IN] = {"half-open", 0, TO_COLLECTOR, false},
        [STOP] = {"pause-collector", -1, 0, false},
        [STOP_0] = {"pause-collector", 0, 0, false},
        [STOP_1] = {"pause-collector", 1, 0, false},
        [CLOSE_0] = {"close-reader", 0, 0, true},
        [SLOW] = {"slow-reader", -1, 0, false},
        [SLOW_1] = {"pause-reader", 1, 0, false},
        [HOLD] = {"hold-horizon", 0, 0, false},
        [TERM] = {"stop-collector", 1, 0, false},
        [SLICE] = {"slice", 0, 0, false},
        [LIMIT] = {"limit-data", 0, 0, false},
    };
    static const struct {
        int first, second;
        bool collide;
    } pairs[] = {
        {DELAY, DELAY, true},
        {DELAY, THROTTLE, false},
        {THROTTLE, THROTTLE, true},
        {PARTITION, OUT, true},
        {PARTITION, IN, true},
        {IN, PARTITION, true},
        {IN, OUT, false},
        {IN, IN, true},
        {PARTITION, DELAY, false},
        {STOP_0, STOP_0, true},
        {STOP_0, STOP_1, false},
        {STOP, STOP_1, true},
        {STOP_0, CLOSE_0, true},
        {STOP_1, CLOSE_0, false},
        {CLOSE_0, STOP_0, false},
        {SLOW, SLOW_1, true},
        {SLOW, STOP, false},
        {SLOW, CLOSE_0, false},
        {HOLD, HOLD, false},
        {STOP, TERM, true},
        {STOP_0, TERM, false},
        {TERM, STOP, false},
        {TERM, TERM, false},
        {SLICE, SLICE, true},
        {SLICE, THROTTLE, false},
        {LIMIT, LIMIT, true},
        {LIMIT, SLICE, false},
    };

    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
        struct fixture *f = new_fixture(1, 10 * NS_PER_S, ARRIVALS_CONSTANT);
        const int both[2] = {pairs[i].first, pairs[i].second};
        for (int n = 0; n < 2; n++)
            f->faults[n] = (struct fault_spec){.verb = verb_find(kinds[both[n]].verb),
                .at_ns = (n + 1) * NS_PER_S,
                .for_ns = kinds[both[n]].instant ? 0 : 2 * NS_PER_S,
                .instance = kinds[both[n]].instance,
                .direction = kinds[both[n]].direction};
        f->s.fault_count = 2;
        make(f);
        if (f->p.faults[1].busy != (pairs[i].collide ? 1 : 0))
            fail_msg("%s and %s (pair %zu)", f->faults[0].verb->name, f->faults[1].verb->name, i);
        drop(f);
    }
}

static void a_fault_may_not_overlap_itself(void **state)
{
    struct fixture *f = new_fixture(1, 10 * NS_PER_S, ARRIVALS_CONSTANT);

    f->faults[0] = (struct fault_spec){.verb = verb_find("delay"),
        .at_ns = NS_PER_S,
        .every_ns = NS_PER_S,
        .until_ns = 5 * NS_PER_S,
        .for_ns = 1500 * NS_PER_MS};
    f->s.fault_count = 1;
    make(f);
    // Every second one is left out. A fault that is left out does not collide with the next.
    for (size_t i = 0; i < f->p.fault_count; i++)
        assert_int_equal(f->p.faults[i].busy, i % 2 == 0 ? 0 : i);
    drop(f);
}

static void one_may_begin_where_another_ends(void **state)
{
    struct fixture *f = new_fixture(1, 10 * NS_PER_S, ARRIVALS_CONSTANT);

    f->faults[0] = (struct fault_spec){
        .verb = verb_find("stop-server"), .at_ns = NS_PER_S, .for_ns = 2 * NS_PER_S};
    f->faults[1] = (struct fault_spec){.verb = verb_find("restart-server"), .at_ns = 3 * NS_PER_S};
    f->faults[2] = (struct fault_spec){
        .verb = verb_find("kill-server"), .at_ns = 3 * NS_PER_S, .for_ns = NS_PER_S};
    f->s.fault_count = 3;
    make(f);
    for (size_t i = 0; i < f->p.fault_count; i++)
        assert_int_equal(f->p.faults[i].busy, 0);
    drop(f);
}

static void faults_of_all_collectors_may_last_together(void **state)
{
    static const char *const kinds[] = {"pause-collector", "pause-reader", "hang-sender"};
    enum { INSTANCES = 64, KINDS = 3 };
    static struct fault_spec specs[INSTANCES * KINDS];
    struct fixture *f = new_fixture(1, 10 * NS_PER_S, ARRIVALS_CONSTANT);

    for (int i = 0; i < INSTANCES * KINDS; i++)
        specs[i] = (struct fault_spec){.verb = verb_find(kinds[i % KINDS]),
            .at_ns = NS_PER_S,
            .for_ns = NS_PER_S,
            .instance = i / KINDS};
    f->s.faults = specs;
    f->s.fault_count = (size_t)INSTANCES * KINDS;
    make(f);
    for (size_t i = 0; i < f->p.fault_count; i++)
        assert_int_equal(f->p.faults[i].busy, 0);
    drop(f);
}

// Jitter draws each time anew, and the times stay in the order that they have without jitter. The
// seed decides them, and one fault's draws do not depend on another's.
static void jitter_moves_each_time(void **state)
{
    struct fixture *f = new_fixture(1, 10 * NS_PER_S, ARRIVALS_CONSTANT);
    struct fixture *g = new_fixture(1, 10 * NS_PER_S, ARRIVALS_CONSTANT);
    int64_t moved_ns = 0, least_ns = NS_PER_S;

    f->faults[0] = (struct fault_spec){.verb = verb_find("kill-collector"),
        .every_ns = 100 * NS_PER_MS,
        .until_ns = 9900 * NS_PER_MS,
        .jitter_ns = 80 * NS_PER_MS};
    f->s.fault_count = 1;
    g->faults[0] = f->faults[0];
    g->faults[1] = f->faults[0];
    g->faults[1].at_ns = 50 * NS_PER_MS;
    g->s.fault_count = 2;
    make(f);
    make(g);
    assert_int_equal(f->p.fault_count, 100);
    for (size_t i = 0, k = 0; i < f->p.fault_count; i++) {
        int64_t late_ns = f->p.faults[i].at_ns - (int64_t)i * 100 * NS_PER_MS;
        assert_true(late_ns >= 0 && late_ns <= 80 * NS_PER_MS);
        moved_ns = late_ns > moved_ns ? late_ns : moved_ns;
        least_ns = late_ns < least_ns ? late_ns : least_ns;
        while (g->p.faults[k].spec != 0)
            k++;
        assert_int_equal(g->p.faults[k++].at_ns, f->p.faults[i].at_ns);
    }
    assert_true(moved_ns > 60 * NS_PER_MS && least_ns < 20 * NS_PER_MS);
    assert_true(f->p.faults[99].at_ns == 9900 * NS_PER_MS); // `until` is the last time
    drop(f);
    drop(g);
}

static void a_fault_for_the_rest_has_no_length(void **state)
{
    struct fixture *f = new_fixture(1, 10 * NS_PER_S, ARRIVALS_CONSTANT);

    f->faults[0] = (struct fault_spec){
        .verb = verb_find("kill-collector"), .at_ns = NS_PER_S, .for_ns = FOR_REST};
    f->s.fault_count = 1;
    make(f);
    assert_int_equal(f->p.faults[0].end_ns, NS_PER_S);
    assert_int_equal(f->p.end_ns, 10 * NS_PER_S);
    drop(f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(faults_are_merged_in_order),
        cmocka_unit_test(too_much_is_refused),
        cmocka_unit_test(faults_collide_over_the_same_thing),
        cmocka_unit_test(a_fault_may_not_overlap_itself),
        cmocka_unit_test(one_may_begin_where_another_ends),
        cmocka_unit_test(faults_of_all_collectors_may_last_together),
        cmocka_unit_test(jitter_moves_each_time),
        cmocka_unit_test(a_fault_for_the_rest_has_no_length),
    };
    return cmocka_run_group_tests_name("harness.plan-faults", tests, NULL, NULL);
}
