#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/clock.h"
#include "plan/plan.h"
#include "plan/rng.h"

#define PRINT_MAX ((size_t)64 << 20)

// A scenario of one phase and up to three faults that the tests fill in.
struct fixture {
    struct scenario s;
    struct load_phase load[3];
    struct fault_spec faults[3];
    struct plan p;
};

static struct fixture *new_fixture(double rate, int64_t for_ns, enum arrivals arrivals)
{
    struct fixture *f = calloc(1, sizeof *f);

    assert_non_null(f);
    f->load[0] = (struct load_phase){.name = "one",
        .for_ns = for_ns,
        .rate_from = rate,
        .rate_to = rate,
        .arrivals = arrivals,
        .connections = 8,
        .rows_from = 1,
        .rows_to = 1};
    f->s = (struct scenario){
        .name = "x", .seed = 1, .load = f->load, .load_count = 1, .faults = f->faults};
    return f;
}

static void make(struct fixture *f)
{
    struct err e = {0};

    plan_fini(&f->p);
    if (!plan_make(&f->p, &f->s, &e))
        fail_msg("%s", e.text);
}

static void drop(struct fixture *f)
{
    plan_fini(&f->p);
    free(f);
}

static void print(struct fixture *f, struct buf *out, bool json)
{
    make(f);
    buf_init(out, PRINT_MAX);
    assert_true(json ? plan_print_json(&f->p, &f->s, out) : plan_print(&f->p, &f->s, out));
}

static void the_seed_decides_every_byte(void **state)
{
    (void)state;
    for (int json = 0; json < 2; json++) {
        struct fixture *f = new_fixture(200, 5 * NS_PER_S, ARRIVALS_POISSON);
        struct buf one, same, other;

        f->load[0].recovery = 0.3;
        f->load[0].rollback = 0.1;
        print(f, &one, json);
        print(f, &same, json);
        assert_int_equal(one.len, same.len);
        assert_memory_equal(one.data, same.data, one.len);
        f->s.seed = 2;
        print(f, &other, json);
        assert_true(one.len != other.len || memcmp(one.data, other.data, one.len) != 0);
        buf_fini(&one);
        buf_fini(&same);
        buf_fini(&other);
        drop(f);
    }
}

static void constant_arrivals_are_exact(void **state)
{
    struct fixture *f = new_fixture(200, 10 * NS_PER_S, ARRIVALS_CONSTANT);

    (void)state;
    f->load[1] = f->load[0];
    f->s.load_count = 2;
    make(f);
    assert_int_equal(f->p.txn_count, 4000);
    for (size_t i = 0; i < f->p.txn_count; i++) {
        assert_int_equal(f->p.txns[i].at_ns, 2500000 + (int64_t)i * 5000000);
        assert_int_equal(f->p.txns[i].first_token, i);
        assert_int_equal(f->p.txns[i].phase, i / 2000);
    }
    drop(f);
}

static void rows_share_the_rate(void **state)
{
    struct fixture *f = new_fixture(1000, 10 * NS_PER_S, ARRIVALS_CONSTANT);

    (void)state;
    f->load[0].rows_from = f->load[0].rows_to = 100;
    make(f);
    assert_int_equal(f->p.txn_count, 100);
    assert_int_equal(f->p.token_count, 10000);
    assert_int_equal(f->p.txns[1].first_token, 100);
    assert_int_equal(f->p.txns[1].at_ns - f->p.txns[0].at_ns, 100 * NS_PER_MS);
    drop(f);
}

// Counts in one-second windows have the mean and the variance of their rate;
// gaps have the mean and the deviation of an exponential.
static void poisson_arrivals_are_poisson(void **state)
{
    enum { RATE = 50, SECONDS = 4000 };
    static unsigned counts[SECONDS];

    (void)state;
    for (uint64_t seed = 1; seed <= 3; seed++) {
        struct fixture *f = new_fixture(RATE, SECONDS * NS_PER_S, ARRIVALS_POISSON);
        double variance = 0, gaps = 0, squares = 0;

        f->s.seed = seed;
        make(f);
        memset(counts, 0, sizeof counts);
        double n = (double)f->p.txn_count, last = 0;
        for (size_t i = 0; i < f->p.txn_count; i++) {
            double at = (double)f->p.txns[i].at_ns / 1e9;
            assert_true(at >= last && at <= SECONDS);
            counts[(size_t)at]++;
            gaps += at - last;
            squares += (at - last) * (at - last);
            last = at;
        }
        for (size_t i = 0; i < SECONDS; i++)
            variance += (counts[i] - (double)RATE) * (counts[i] - (double)RATE) / SECONDS;
        assert_true(fabs(n - RATE * SECONDS) < 5 * sqrt(RATE * SECONDS));
        // The variance of (X - rate)² is 2·rate² + rate.
        assert_true(fabs(variance - RATE) < 5 * sqrt((2.0 * RATE * RATE + RATE) / SECONDS));
        // The square of an exponential gap has mean 2 and variance 20, in units.
        assert_true(fabs(gaps / n * RATE - 1) < 5 / sqrt(n));
        assert_true(fabs(squares / n * RATE * RATE - 2) < 5 * sqrt(20 / n));
        drop(f);
    }
}

static void ramps_follow_their_rate(void **state)
{
    (void)state;
    for (int kind = 0; kind < 2; kind++) {
        for (int down = 0; down < 2; down++) {
            struct fixture *f = new_fixture(0, 100 * NS_PER_S, (enum arrivals)kind);
            size_t half = 0;

            *(down ? &f->load[0].rate_from : &f->load[0].rate_to) = 2000;
            make(f);
            for (size_t i = 0; i < f->p.txn_count; i++) {
                half += f->p.txns[i].at_ns < 50 * NS_PER_S;
                assert_true(i == 0 || f->p.txns[i].at_ns >= f->p.txns[i - 1].at_ns);
            }
            // A triangle of 100,000, of which a quarter lies in its thin half.
            double thin = (double)(down ? f->p.txn_count - half : half);
            double total = (double)f->p.txn_count;
            double sigmas = kind == ARRIVALS_CONSTANT ? 0 : 5;
            assert_true(fabs(total - 100000) <= sigmas * sqrt(100000));
            assert_true(fabs(thin - 25000) <= sigmas * sqrt(25000));
            assert_true(f->p.txns[f->p.txn_count - 1].at_ns <= 100 * NS_PER_S);
            drop(f);
        }
    }
}

static void nothing_comes_at_rate_zero(void **state)
{
    struct fixture *f = new_fixture(0, NS_PER_S, ARRIVALS_POISSON);
    struct buf out;

    (void)state;
    print(f, &out, true);
    assert_int_equal(f->p.txn_count, 0);
    assert_int_equal(f->p.end_ns, NS_PER_S);
    buf_fini(&out);
    drop(f);
}

static void within(size_t count, double share, size_t total)
{
    double n = (double)total;

    assert_true(fabs((double)count - share * n) <= 5 * sqrt(n * share * (1 - share)));
}

static void shares_are_kept(void **state)
{
    struct fixture *f = new_fixture(1000, 50 * NS_PER_S, ARRIVALS_CONSTANT);
    size_t kinds[TOKEN_KINDS] = {0}, rollbacks = 0, holds = 0;

    (void)state;
    f->load[0].recovery = 0.2;
    f->load[0].ineligible = 0.3;
    f->load[0].unsendable = 0.1;
    f->load[0].rollback = 0.02;
    f->load[0].hold_share = 0.05;
    make(f);
    for (size_t i = 0; i < f->p.token_count; i++)
        kinds[f->p.kinds[i]]++;
    for (size_t i = 0; i < f->p.txn_count; i++) {
        rollbacks += (f->p.txns[i].flags & TXN_ROLLBACK) != 0;
        holds += (f->p.txns[i].flags & TXN_HOLD) != 0;
    }
    within(kinds[TOKEN_ACTIVATION], 0.4, 50000);
    within(kinds[TOKEN_RECOVERY], 0.2, 50000);
    within(kinds[TOKEN_EXPIRED], 0.1, 50000);
    within(kinds[TOKEN_CONSUMED], 0.1, 50000);
    within(kinds[TOKEN_SUSPENDED], 0.1, 50000);
    within(kinds[TOKEN_SHORT_SECRET], 0.05, 50000);
    within(kinds[TOKEN_WITHOUT_CODE], 0.05, 50000);
    within(rollbacks, 0.02, 50000);
    within(holds, 0.05, 50000);
    drop(f);
}

static void upserts_conflict_and_names_are_hostile(void **state)
{
    struct fixture *f = new_fixture(1000, 50 * NS_PER_S, ARRIVALS_CONSTANT);
    size_t kinds[TOKEN_KINDS] = {0}, shapes[NAME_SHAPES] = {0};

    (void)state;
    f->load[0].recovery = 0.2;
    f->load[0].unsendable = 0.2;
    f->load[0].insert = INSERT_UPSERT;
    f->load[0].names = NAMES_HOSTILE;
    make(f);
    for (uint32_t i = 0; i < f->p.token_count; i++) {
        kinds[f->p.kinds[i]]++;
        shapes[plan_name_shape(&f->p, &f->p.txns[i], i)]++;
    }
    within(kinds[TOKEN_ACTIVATION], 0.6 * 0.8, 50000);
    within(kinds[TOKEN_CONFLICT], 0.6 * 0.2, 50000);
    within(kinds[TOKEN_RECOVERY], 0.2, 50000);
    within(kinds[TOKEN_BAD_NAME], 0.1, 50000);
    for (enum name_shape shape = 0; shape < NAME_SHAPES; shape++)
        assert_true(shapes[shape] > (shape < NAME_COMMA ? 50000 * 0.9 / 5 : 50000 * 0.1 / 7));
    drop(f);
}

static void a_backlog_comes_first_and_moves_nothing(void **state)
{
    struct fixture *f = new_fixture(100, 5 * NS_PER_S, ARRIVALS_POISSON);
    struct fixture *g = new_fixture(100, 5 * NS_PER_S, ARRIVALS_POISSON);

    (void)state;
    f->load[0].recovery = g->load[0].recovery = 0.3;
    f->load[0].rows_to = g->load[0].rows_to = 7;
    g->load[0].backlog = 1000;
    make(f);
    make(g);
    size_t txns = plan_backlog_txns(&g->p);
    assert_int_equal(plan_backlog_txns(&f->p), 0);
    assert_int_equal(g->p.txns[txns].first_token, 1000);
    assert_int_equal(g->p.txn_count, f->p.txn_count + txns);
    assert_memory_equal(g->p.kinds + 1000, f->p.kinds, f->p.token_count);
    for (size_t i = 0; i < f->p.txn_count; i++)
        assert_int_equal(g->p.txns[txns + i].at_ns, f->p.txns[i].at_ns);
    drop(f);
    drop(g);
}

static void changes_are_drawn(void **state)
{
    struct fixture *f = new_fixture(1000, 50 * NS_PER_S, ARRIVALS_CONSTANT);
    size_t kinds[CHANGE_KINDS] = {0};

    (void)state;
    f->s.collector.batch_timeout_ns = 100 * NS_PER_MS;
    f->load[0].recovery = 0.2;
    f->load[0].rollback = 0.5;
    f->load[0].consume = 0.1;
    f->load[0].reactivate = 0.2;
    f->load[0].delete = 0.3;
    make(f);
    for (size_t i = 0; i < f->p.change_count; i++) {
        const struct plan_change *c = &f->p.changes[i];
        const struct plan_txn *txn = &f->p.txns[c->token];
        kinds[c->kind]++;
        assert_true(i == 0 || c->at_ns >= c[-1].at_ns);
        assert_true(c->at_ns >= txn->at_ns && c->at_ns <= txn->at_ns + 100 * NS_PER_MS);
        assert_false(txn->flags & TXN_ROLLBACK);
        assert_true(c->kind == CHANGE_REACTIVATE || c->back_ns == 0);
    }
    within(kinds[CHANGE_CONSUME], 0.05, 50000);
    within(kinds[CHANGE_REACTIVATE], 0.1, 50000);
    within(kinds[CHANGE_DELETE], 0.15, 50000);
    assert_int_equal(kinds[CHANGE_SUSPEND] + kinds[CHANGE_EXPIRE], 0);
    drop(f);
}

static void one_share_leaves_the_rest_alone(void **state)
{
    struct fixture *a = new_fixture(500, 10 * NS_PER_S, ARRIVALS_POISSON);
    struct fixture *b = new_fixture(500, 10 * NS_PER_S, ARRIVALS_POISSON);

    (void)state;
    a->load[0].rollback = b->load[0].rollback = 0.1;
    a->load[0].recovery = b->load[0].recovery = 0.5;
    b->load[0].hold_share = 0.5;
    make(a);
    make(b);
    assert_int_equal(a->p.txn_count, b->p.txn_count);
    assert_memory_equal(a->p.kinds, b->p.kinds, a->p.token_count);
    for (size_t i = 0; i < a->p.txn_count; i++) {
        assert_int_equal(a->p.txns[i].at_ns, b->p.txns[i].at_ns);
        assert_int_equal(a->p.txns[i].flags & TXN_ROLLBACK, b->p.txns[i].flags & TXN_ROLLBACK);
    }
    drop(a);
    drop(b);
}

static void faults_are_merged_in_order(void **state)
{
    static const struct {
        int64_t at_ms, end_ms;
        uint32_t spec;
    } want[] = {{500, 500, 0}, {1000, 1000, 0}, {1000, 3000, 1}, {1500, 1500, 0}, {9500, 10500, 2}};
    struct fixture *f = new_fixture(1, 10 * NS_PER_S, ARRIVALS_CONSTANT);

    (void)state;
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

    (void)state;
    refused(f, "the scenario's rates and phases come to more than 20000000 tokens, the most that a "
               "plan holds");

    f = new_fixture(1, 1000 * NS_PER_S, ARRIVALS_POISSON);
    f->faults[0] = (struct fault_spec){
        .verb = verb_find("kill-collector"), .every_ns = NS_PER_MS, .until_ns = 1000 * NS_PER_S};
    f->s.fault_count = 1;
    refused(f, "the scenario comes to more than 100000 faults, the most that a plan holds");
}

// Of two that begin a second apart and last two: whether the plan leaves one out.
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
        TERM
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
    };

    (void)state;
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

    (void)state;
    f->faults[0] = (struct fault_spec){.verb = verb_find("delay"),
        .at_ns = NS_PER_S,
        .every_ns = NS_PER_S,
        .until_ns = 5 * NS_PER_S,
        .for_ns = 1500 * NS_PER_MS};
    f->s.fault_count = 1;
    make(f);
    // Every second one is left out, and one that was is no reason to leave out another.
    for (size_t i = 0; i < f->p.fault_count; i++)
        assert_int_equal(f->p.faults[i].busy, i % 2 == 0 ? 0 : i);
    drop(f);
}

static void one_may_begin_where_another_ends(void **state)
{
    struct fixture *f = new_fixture(1, 10 * NS_PER_S, ARRIVALS_CONSTANT);

    (void)state;
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

// Each time is its own draw, in the order of the times without jitter; the seed
// decides, and one fault's draws do not depend on another's.
static void jitter_moves_each_time(void **state)
{
    struct fixture *f = new_fixture(1, 10 * NS_PER_S, ARRIVALS_CONSTANT);
    struct fixture *g = new_fixture(1, 10 * NS_PER_S, ARRIVALS_CONSTANT);
    int64_t moved_ns = 0, least_ns = NS_PER_S;

    (void)state;
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

static void for_the_rest_ends_at_once(void **state)
{
    struct fixture *f = new_fixture(1, 10 * NS_PER_S, ARRIVALS_CONSTANT);

    (void)state;
    f->faults[0] = (struct fault_spec){
        .verb = verb_find("kill-collector"), .at_ns = NS_PER_S, .for_ns = FOR_REST};
    f->s.fault_count = 1;
    make(f);
    assert_int_equal(f->p.faults[0].end_ns, NS_PER_S);
    assert_int_equal(f->p.end_ns, 10 * NS_PER_S);
    drop(f);
}

static void prints_text(void **state)
{
    struct fixture *f = new_fixture(2, NS_PER_S, ARRIVALS_CONSTANT);
    struct buf out;

    (void)state;
    f->load[0].rollback = 1;
    f->load[1] = f->load[0];
    f->load[1].name = "two";
    f->load[1].rows_from = f->load[1].rows_to = 2;
    f->load[1].rollback = 0;
    f->load[1].hold_share = 1;
    f->load[1].hold_for_ns = 50 * NS_PER_MS;
    f->s.load_count = 2;
    f->faults[0] = (struct fault_spec){
        .verb = verb_find("kill-server"), .at_ns = 750 * NS_PER_MS, .for_ns = NS_PER_S};
    f->faults[1] = (struct fault_spec){
        .verb = verb_find("cancel-query"), .at_ns = 900 * NS_PER_MS, .target = TARGET_LOAD};
    f->faults[2] = (struct fault_spec){
        .verb = verb_find("kill-collector"), .at_ns = 1900 * NS_PER_MS, .instance = 1};
    f->s.fault_count = 3;
    print(f, &out, false);
    assert_string_equal(buf_str(&out),
        "# x, seed 1: 4 tokens in 3 transactions, 3 faults, 2 s of load\n"
        "    0.250000  insert  txn 0  token 0  activation  rolled back\n"
        "    0.750000  fault   kill-server  until 1.750000\n"
        "    0.750000  insert  txn 1  token 1  activation  rolled back\n"
        "    0.900000  fault   cancel-query  target load\n"
        "    1.500000  insert  txn 2  token 2-3  2 activation  held 0.05 s\n"
        "    1.900000  fault   kill-collector  instance 1\n");
    buf_fini(&out);
    print(f, &out, true);
    assert_string_equal(buf_str(&out),
        "{\"scenario\": \"x\", \"seed\": 1, \"tokens\": 4, \"transactions\": 3, \"faults\": 3, "
        "\"load_ns\": 2000000000, \"end_ns\": 2000000000, \"timeline\": [\n"
        "  {\"at_ns\":250000000,\"what\":\"insert\",\"txn\":0,\"phase\":\"one\",\"first_token\":0,"
        "\"tokens\":[\"activation\"],\"held_ns\":0,\"rollback\":true},\n"
        "  {\"at_ns\":750000000,\"what\":\"fault\",\"do\":\"kill-server\",\"end_ns\":1750000000},\n"
        "  {\"at_ns\":750000000,\"what\":\"insert\",\"txn\":1,\"phase\":\"one\",\"first_token\":1,"
        "\"tokens\":[\"activation\"],\"held_ns\":0,\"rollback\":true},\n"
        "  {\"at_ns\":900000000,\"what\":\"fault\",\"do\":\"cancel-query\",\"end_ns\":900000000,"
        "\"target\":\"load\"},\n"
        "  {\"at_ns\":1500000000,\"what\":\"insert\",\"txn\":2,\"phase\":\"two\",\"first_token\":2,"
        "\"tokens\":[\"activation\",\"activation\"],\"held_ns\":50000000,\"rollback\":false},\n"
        "  {\"at_ns\":1900000000,\"what\":\"fault\",\"do\":\"kill-collector\","
        "\"end_ns\":1900000000,\"instance\":1}\n"
        "]}\n");
    buf_fini(&out);
    drop(f);
}

static void a_full_buffer_is_noticed(void **state)
{
    struct fixture *f = new_fixture(1000, NS_PER_S, ARRIVALS_CONSTANT);
    struct buf out;

    (void)state;
    make(f);
    for (size_t max = 0; max < 2000; max += 37) {
        buf_init(&out, max);
        assert_false(plan_print(&f->p, &f->s, &out));
        buf_clear(&out);
        assert_false(plan_print_json(&f->p, &f->s, &out));
        buf_fini(&out);
    }
    drop(f);
}

// The first outputs of the published generator from the state 1, 2, 3, 4.
static void the_generator_is_the_published_one(void **state)
{
    static const uint64_t want[] = {11520, 0, 1509978240, 1215971899390074240};
    struct rng r = {{1, 2, 3, 4}};

    (void)state;
    for (size_t i = 0; i < sizeof want / sizeof *want; i++)
        assert_true(rng_next(&r) == want[i]);
}

static void small_numbers_are_even(void **state)
{
    size_t counts[3] = {0};
    struct rng r;

    (void)state;
    rng_init(&r, 1, 0);
    for (int i = 0; i < 30000; i++) {
        double u = rng_uniform(&r);
        assert_true(u >= 0 && u < 1);
        counts[rng_below(&r, 3)]++;
    }
    for (size_t i = 0; i < 3; i++)
        within(counts[i], 1.0 / 3, 30000);
}

static void takes_recorded_times_as_they_are(void **state)
{
    static int64_t times[] = {0, 5, 5, 999999999};
    struct fixture *f = new_fixture(0, NS_PER_S, ARRIVALS_TRACE);

    (void)state;
    f->load[0].trace_ns = times;
    f->load[0].trace_count = 4;
    make(f);
    assert_int_equal(f->p.txn_count, 4);
    for (size_t i = 0; i < 4; i++)
        assert_int_equal(f->p.txns[i].at_ns, times[i]);
    drop(f);
}

static void draws_rows_from_the_whole_range(void **state)
{
    struct fixture *f = new_fixture(5000, 10 * NS_PER_S, ARRIVALS_CONSTANT);
    size_t counts[8] = {0};

    (void)state;
    f->load[0].rows_from = 2;
    f->load[0].rows_to = 6;
    make(f);
    // The rate counts tokens: 50,000 of them, in transactions of four on average.
    assert_int_equal(f->p.txn_count, 12500);
    for (size_t i = 0; i < f->p.txn_count; i++) {
        assert_in_range(f->p.txns[i].rows, 2, 6);
        counts[f->p.txns[i].rows]++;
    }
    for (size_t rows = 2; rows <= 6; rows++)
        assert_in_range(counts[rows], 2300, 2700);
    drop(f);
}

static void plans_more_than_a_closed_loop_can_need(void **state)
{
    struct fixture *f = new_fixture(0, NS_PER_S, ARRIVALS_POISSON);
    struct buf out;

    (void)state;
    f->load[0].closed = true;
    f->load[1] = f->load[0];
    f->s.load_count = 2;
    print(f, &out, false);
    assert_int_equal(f->p.txn_count, 100000);
    assert_int_equal(f->p.txns[49999].at_ns, 0);
    assert_int_equal(f->p.txns[50000].at_ns, NS_PER_S);
    // A head and one line for each phase.
    size_t lines = 0;
    for (const char *c = buf_str(&out); *c; c++)
        lines += *c == '\n';
    assert_int_equal(lines, 3);
    buf_fini(&out);
    drop(f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_seed_decides_every_byte),
        cmocka_unit_test(constant_arrivals_are_exact),
        cmocka_unit_test(rows_share_the_rate),
        cmocka_unit_test(poisson_arrivals_are_poisson),
        cmocka_unit_test(ramps_follow_their_rate),
        cmocka_unit_test(nothing_comes_at_rate_zero),
        cmocka_unit_test(shares_are_kept),
        cmocka_unit_test(upserts_conflict_and_names_are_hostile),
        cmocka_unit_test(a_backlog_comes_first_and_moves_nothing),
        cmocka_unit_test(changes_are_drawn),
        cmocka_unit_test(one_share_leaves_the_rest_alone),
        cmocka_unit_test(faults_are_merged_in_order),
        cmocka_unit_test(too_much_is_refused),
        cmocka_unit_test(faults_collide_over_the_same_thing),
        cmocka_unit_test(a_fault_may_not_overlap_itself),
        cmocka_unit_test(one_may_begin_where_another_ends),
        cmocka_unit_test(jitter_moves_each_time),
        cmocka_unit_test(for_the_rest_ends_at_once),
        cmocka_unit_test(prints_text),
        cmocka_unit_test(a_full_buffer_is_noticed),
        cmocka_unit_test(the_generator_is_the_published_one),
        cmocka_unit_test(small_numbers_are_even),
        cmocka_unit_test(takes_recorded_times_as_they_are),
        cmocka_unit_test(draws_rows_from_the_whole_range),
        cmocka_unit_test(plans_more_than_a_closed_loop_can_need),
    };
    return cmocka_run_group_tests_name("harness.plan", tests, NULL, NULL);
}
