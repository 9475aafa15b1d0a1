#include "base/unit.h"
#include "plan/rng.h"
#include "shrink/search.h"

// Two phases, and a fault every 250 ms: 40 in all, the last five of them in the second phase. One
// more fault kills the third collector.
static const char yaml[] =
    "name: scenario\nsummary: x\n"
    "collector: {instances: 3, batch_timeout: 100ms}\n"
    "load:\n"
    "  - {name: ramp, for: 10s, rate: 100/s..200/s, recovery: 0.2, rollback: 0.1, connections: 8,\n"
    "     ids_from: 1000, tokens_per_account: 3, changes: {email: 0.1}}\n"
    "  - {name: rest, for: 2s, rate: 40/s, arrivals: constant}\n"
    "faults:\n"
    "  - {at: 1250ms, every: 250ms, until: 11s, do: terminate-backend}\n"
    "  - {at: 5s, do: kill-collector, instance: 2}\n"
    "expect: {lost: '= 0', latency.p99: '< 1s', delivered: '> 1000'}\n";

struct fixture {
    char dir[32], path[64];
    struct scenario scenario;
    struct plan plan;
    struct whole whole;
    struct search search;
    struct rng rng;
    int asked, stop_after; // stop_after: number of questions after which it stops; 0: never
    bool (*fails)(struct fixture *f, const struct sketch *k);
};

static void write_file(const char *path, const char *text, size_t len)
{
    FILE *file = fopen(path, "w");

    assert_non_null(file);
    assert_int_equal(fwrite(text, 1, len, file), len);
    assert_int_equal(fclose(file), 0);
}

static void load(struct scenario *s, const char *path)
{
    struct err e = {0};

    if (!scenario_load(s, path, &(struct overrides){0}, &e))
        fail_msg("%s", e.text);
}

static int set_up(void **state)
{
    struct fixture *f = calloc(1, sizeof *f);
    struct err e;

    assert_non_null(f);
    strcpy(f->dir, "/tmp/mp-shrink.XXXXXX");
    assert_non_null(mkdtemp(f->dir));
    snprintf(f->path, sizeof f->path, "%s/scenario.yaml", f->dir);
    write_file(f->path, yaml, strlen(yaml));
    load(&f->scenario, f->path);
    assert_true(plan_make(&f->plan, &f->scenario, &e));
    assert_int_equal(f->plan.fault_count, 41);
    f->whole = (struct whole){&f->scenario, &f->plan};
    rng_init(&f->rng, 1, 1);
    *state = f;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *f = *state;

    search_fini(&f->search);
    plan_fini(&f->plan);
    scenario_fini(&f->scenario);
    unlink(f->path);
    rmdir(f->dir);
    free(f);
    return 0;
}

static enum answer ask(void *context, const struct sketch *k)
{
    struct fixture *f = context;

    if (f->stop_after && f->asked == f->stop_after)
        return ANSWER_STOP;
    f->asked++;
    return f->fails(f, k) ? ANSWER_FAILS : ANSWER_PASSES;
}

static const struct sketch *search(
    struct fixture *f, bool (*fails)(struct fixture *f, const struct sketch *k))
{
    struct oracle oracle = {ask, f};

    f->fails = fails;
    search_init(&f->search, &f->whole, &oracle);
    search_run(&f->search);
    return search_best(&f->search);
}

static double seconds(struct fixture *f, const struct sketch *k)
{
    return (double)sketch_load_ns(k, &f->whole) / NS_PER_S;
}

// --- the search -------------------------------------------------------------------------

static bool seventh_and_two_seconds(struct fixture *f, const struct sketch *k)
{
    return k->faults[7] && seconds(f, k) >= 2;
}

static void one_fault_and_the_load_it_needs_are_left(void **state)
{
    struct fixture *f = *state;
    const struct sketch *k = search(f, seventh_and_two_seconds);

    assert_true(k->faults[7]);
    assert_int_equal(sketch_fault_count(k, &f->whole), 1);
    assert_true(seconds(f, k) >= 2 && seconds(f, k) < 2.7);
    // Everything that has no influence is gone.
    assert_int_equal(k->instances, 1);
    assert_int_equal(k->connections, 1);
    assert_int_equal(k->halvings, 10);
    const unsigned features =
        PLAIN_ROLLBACK | PLAIN_RECOVERY | PLAIN_CHANGES | PLAIN_ACCOUNTS | PLAIN_IDS;
    assert_int_equal(k->plain & features, features);
    assert_true(f->asked < 150);
}

static bool two_far_apart(struct fixture *f, const struct sketch *k)
{
    (void)f;
    return k->faults[3] && k->faults[33];
}

static void faults_that_must_meet_both_stay(void **state)
{
    struct fixture *f = *state;
    const struct sketch *k = search(f, two_far_apart);

    assert_true(two_far_apart(f, k));
    assert_int_equal(sketch_fault_count(k, &f->whole), 2);
    assert_true(seconds(f, k) < 10);
}

static bool second_collector(struct fixture *f, const struct sketch *k)
{
    (void)f;
    return k->instances >= 2 && k->connections >= 4 && !(k->plain & PLAIN_RECOVERY) &&
           k->halvings < 2;
}

static void a_part_that_matters_stays(void **state)
{
    struct fixture *f = *state;
    const struct sketch *k = search(f, second_collector);

    assert_int_equal(sketch_fault_count(k, &f->whole), 0);
    assert_int_equal(k->instances, 2);
    assert_int_equal(k->connections, 4);
    assert_int_equal(k->halvings, 1);
    assert_int_equal(k->plain & (PLAIN_RECOVERY | PLAIN_ROLLBACK), PLAIN_ROLLBACK);
    assert_true(seconds(f, k) < 0.3);
}

static bool at_the_end(struct fixture *f, const struct sketch *k)
{
    (void)f;
    return k->spans[1].to_ns == 2 * NS_PER_S;
}

static void the_end_of_the_load_can_be_what_stays(void **state)
{
    struct fixture *f = *state;
    const struct sketch *k = search(f, at_the_end);

    assert_true(at_the_end(f, k));
    assert_true(seconds(f, k) < 0.3);
    assert_int_equal(sketch_fault_count(k, &f->whole), 0);
}

static bool never(struct fixture *f, const struct sketch *k)
{
    (void)f;
    (void)k;
    return false;
}

static void nothing_smaller_leaves_the_whole(void **state)
{
    struct fixture *f = *state;
    const struct sketch *k = search(f, never);

    assert_int_equal(f->search.kept_count, 1);
    assert_int_equal(sketch_fault_count(k, &f->whole), 41);
    assert_int_equal(sketch_load_ns(k, &f->whole), 12 * NS_PER_S);
    int asked = f->asked;
    // Each candidate was tried three times, and no more.
    assert_int_equal(asked, 3 * f->search.tried_count);
    struct confirmation c = search_confirm(&f->search, 3);
    assert_int_equal(c.asked, 0);
    assert_int_equal(f->asked, asked);
}

static void an_end_of_time_leaves_the_best_so_far(void **state)
{
    struct fixture *f = *state;

    f->stop_after = 12;
    const struct sketch *k = search(f, seventh_and_two_seconds);
    assert_int_equal(f->asked, 12);
    assert_true(f->search.stopped && f->search.kept_count > 1);
    assert_true(k->faults[7] && seconds(f, k) >= 2);
    struct confirmation c = search_confirm(&f->search, 3);
    assert_int_equal(c.asked, 0);
}

// Fails in two of three runs, as a race does.
static bool by_chance(struct fixture *f, const struct sketch *k)
{
    return k->faults[7] && rng_below(&f->rng, 3) < 2;
}

static void chance_is_asked_again(void **state)
{
    struct fixture *f = *state;
    int far = 0;

    for (int round = 0; round < 50; round++) {
        const struct sketch *k = search(f, by_chance);
        assert_true(k->faults[7]);
        far += sketch_fault_count(k, &f->whole) == 1 && seconds(f, k) < 0.5;
        search_fini(&f->search);
    }
    assert_true(far >= 40);
}

// The smaller candidate failed once and never again, so the search takes the larger one.
static enum answer larger_only(void *context, const struct sketch *k)
{
    return seconds(context, k) >= 3 ? ANSWER_FAILS : ANSWER_PASSES;
}

// The smallest candidate fails in one of three runs, the one before it always.
static enum answer smallest_seldom(void *context, const struct sketch *k)
{
    struct fixture *f = context;

    return seconds(f, k) >= 3 || f->asked++ % 3 == 0 ? ANSWER_FAILS : ANSWER_PASSES;
}

static void keep_lengths(struct fixture *f, int64_t from_s, int64_t to_s)
{
    for (int64_t s = from_s; s >= to_s; s--) {
        struct sketch k = sketch_copy(search_best(&f->search), &f->whole);
        sketch_cut(&k, &f->whole, 0, s * NS_PER_S);
        memory_grow(&f->search.kept, f->search.kept_count, 1, sizeof k);
        f->search.kept[f->search.kept_count++] = k;
    }
}

static void a_failure_that_does_not_repeat_is_given_up(void **state)
{
    struct fixture *f = *state;
    struct oracle oracle = {larger_only, f};

    search_init(&f->search, &f->whole, &oracle);
    keep_lengths(f, 9, 1);
    f->search.stopped = true; // this ends the search, but not the confirmation
    struct confirmation c = search_confirm(&f->search, 3);
    assert_int_equal(c.asked, 3);
    assert_int_equal(c.failed, 3);
    assert_int_equal(sketch_load_ns(search_best(&f->search), &f->whole), 3 * NS_PER_S);
}

static void a_sure_failure_is_better_than_the_smallest(void **state)
{
    struct fixture *f = *state;
    struct oracle oracle = {smallest_seldom, f};

    search_init(&f->search, &f->whole, &oracle);
    keep_lengths(f, 4, 2);
    struct confirmation c = search_confirm(&f->search, 3);
    assert_int_equal(c.failed, 3);
    assert_int_equal(sketch_load_ns(search_best(&f->search), &f->whole), 3 * NS_PER_S);
}

static enum answer passes(void *context, const struct sketch *k)
{
    (void)context;
    (void)k;
    return ANSWER_PASSES;
}

static void a_failure_that_never_repeats_counts_once(void **state)
{
    struct fixture *f = *state;
    struct oracle oracle = {passes, f};

    search_init(&f->search, &f->whole, &oracle);
    keep_lengths(f, 4, 2);
    struct confirmation c = search_confirm(&f->search, 3);
    assert_int_equal(c.failed, 1);
    assert_int_equal(c.asked, 4);
    assert_int_equal(sketch_load_ns(search_best(&f->search), &f->whole), 2 * NS_PER_S);
}

// Passes, until the time is over.
static enum answer passes_once(void *context, const struct sketch *k)
{
    struct fixture *f = context;

    (void)k;
    return f->asked++ == 0 ? ANSWER_PASSES : ANSWER_STOP;
}

static void a_failure_counts_when_the_time_ends_the_confirmation(void **state)
{
    struct fixture *f = *state;
    struct oracle oracle = {passes_once, f};

    search_init(&f->search, &f->whole, &oracle);
    keep_lengths(f, 4, 2);
    struct confirmation c = search_confirm(&f->search, 3);
    assert_int_equal(c.failed, 1);
    assert_int_equal(c.asked, 2);
}

// --- the sketch -------------------------------------------------------------------------

static void apply(struct fixture *f, const struct sketch *k, struct scenario *s)
{
    load(s, f->path);
    sketch_apply(k, &f->whole, s);
}

static void a_sketch_becomes_a_scenario_that_reads_back(void **state)
{
    struct fixture *f = *state;
    struct sketch k;
    struct scenario s, again;
    struct buf one, two;
    struct err e;

    sketch_whole(&k, &f->whole);
    // From 5 s to 11 s of the 12: five seconds of the ramp, one of the rest.
    sketch_cut(&k, &f->whole, 5 * NS_PER_S, 11 * NS_PER_S);
    k.instances = 2;
    k.connections = 3;
    k.halvings = 1;
    k.plain = PLAIN_ROLLBACK | PLAIN_CHANGES | PLAIN_ACCOUNTS | PLAIN_IDS;
    k.faults[25] = false; // without the fault at 7250 ms, the times have a gap
    sketch_drop_gone_faults(&k, &f->whole);
    apply(f, &k, &s);
    assert_int_equal(s.load_count, 2);
    assert_int_equal(scenario_load_ns(&s), 6 * NS_PER_S);
    assert_true(s.load[0].rate_from > 74.99 && s.load[0].rate_from < 75.01);
    assert_true(s.load[0].rate_to > 99.99 && s.load[0].rate_to < 100.01);
    assert_true(s.load[0].rollback <= 0 && s.load[0].recovery > 0.1);
    assert_int_equal(s.load[0].connections, 3);
    assert_int_equal(s.load[0].ids_from, 1);
    assert_int_equal(s.load[0].tokens_per_account, 1);
    assert_true(s.load[0].email <= 0);
    // The third collector is gone, and with it the fault that acts on it.
    assert_int_equal(s.fault_count, 2);
    assert_int_equal(s.faults[0].at_ns, 0);
    assert_int_equal(s.faults[0].every_ns, 250 * NS_PER_MS);
    assert_int_equal(s.faults[1].until_ns, 6 * NS_PER_S);
    assert_int_equal(s.expect_count, 1);
    assert_string_equal(s.expect[0].metric, "lost");
    assert_int_equal(s.drain_ns, 6200 * NS_PER_MS);

    buf_init(&one, 1 << 20);
    buf_init(&two, 1 << 20);
    assert_true(scenario_write(&s, &one, &e));
    write_file(f->path, one.data, one.len);
    load(&again, f->path);
    assert_true(scenario_write(&again, &two, &e));
    assert_string_equal(buf_str(&one), buf_str(&two));
    buf_fini(&one);
    buf_fini(&two);
    scenario_fini(&s);
    scenario_fini(&again);
    sketch_fini(&k);
}

static void a_phase_can_go_between_others(void **state)
{
    struct fixture *f = *state;
    struct scenario s;
    struct sketch k;

    sketch_whole(&k, &f->whole);
    k.spans[0] = (struct span){0};
    sketch_drop_gone_faults(&k, &f->whole);
    apply(f, &k, &s);
    assert_int_equal(s.load_count, 1);
    assert_string_equal(s.load[0].name, "rest");
    assert_int_equal(s.fault_count, 1);
    assert_int_equal(s.faults[0].at_ns, 0);
    assert_int_equal(s.faults[0].until_ns, NS_PER_S);
    scenario_fini(&s);
    sketch_fini(&k);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(one_fault_and_the_load_it_needs_are_left),
        TEST(faults_that_must_meet_both_stay),
        TEST(a_part_that_matters_stays),
        TEST(the_end_of_the_load_can_be_what_stays),
        TEST(nothing_smaller_leaves_the_whole),
        TEST(an_end_of_time_leaves_the_best_so_far),
        TEST(chance_is_asked_again),
        TEST(a_failure_that_does_not_repeat_is_given_up),
        TEST(a_sure_failure_is_better_than_the_smallest),
        TEST(a_failure_that_never_repeats_counts_once),
        TEST(a_failure_counts_when_the_time_ends_the_confirmation),
        TEST(a_sketch_becomes_a_scenario_that_reads_back),
        TEST(a_phase_can_go_between_others),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
