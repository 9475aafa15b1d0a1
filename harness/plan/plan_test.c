#include "plan/plan_fixture.h"

#include "plan/rng.h"

static void constant_arrivals_are_exact(void **state)
{
    struct fixture *f = new_fixture(200, 10 * NS_PER_S, ARRIVALS_CONSTANT);

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

    f->load[0].rows_from = f->load[0].rows_to = 100;
    make(f);
    assert_int_equal(f->p.txn_count, 100);
    assert_int_equal(f->p.token_count, 10000);
    assert_int_equal(f->p.txns[1].first_token, 100);
    assert_int_equal(f->p.txns[1].at_ns - f->p.txns[0].at_ns, 100 * NS_PER_MS);
    drop(f);
}

// The counts in windows of one second have the mean and the variance of a Poisson distribution with
// this rate. The gaps have the mean and the deviation of an exponential distribution.
static void poisson_arrivals_are_poisson(void **state)
{
    enum { RATE = 50, SECONDS = 4000 };
    static unsigned counts[SECONDS];

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
        // For a Poisson count X, the variance of (X - rate)² is 2·rate² + rate.
        assert_true(fabs(variance - RATE) < 5 * sqrt((2.0 * RATE * RATE + RATE) / SECONDS));
        // In units of the mean gap, the square of an exponential gap has mean 2 and variance 20.
        assert_true(fabs(gaps / n * RATE - 1) < 5 / sqrt(n));
        assert_true(fabs(squares / n * RATE * RATE - 2) < 5 * sqrt(20 / n));
        drop(f);
    }
}

static void ramps_follow_their_rate(void **state)
{
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
            // The ramp has 100,000 tokens; a quarter of them are in its slower half.
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
    within(kinds[TOKEN_EXPIRED], 0.06, 50000);
    within(kinds[TOKEN_CONSUMED], 0.06, 50000);
    within(kinds[TOKEN_SUSPENDED], 0.06, 50000);
    within(kinds[TOKEN_ACTIVE], 0.06, 50000);
    within(kinds[TOKEN_PROVISIONED], 0.06, 50000);
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
        assert_true(shapes[shape] > (shape < NAME_COMMA ? 50000 * 0.9 / 6 : 50000 * 0.1 / 7));
    drop(f);
}

static void a_backlog_comes_first_and_moves_nothing(void **state)
{
    struct fixture *f = new_fixture(100, 5 * NS_PER_S, ARRIVALS_POISSON);
    struct fixture *g = new_fixture(100, 5 * NS_PER_S, ARRIVALS_POISSON);

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

// Tokens that share an account are told apart by their codes, however many there are.
static void accounts_get_several_tokens(void **state)
{
    struct fixture *f = new_fixture(10000, 50 * NS_PER_S, ARRIVALS_CONSTANT);
    size_t accounts = 0, tokens = 0;

    f->load[0].recovery = 0.2;
    f->load[0].email = 1;
    f->load[0].tokens_per_account = 3;
    make(f);
    for (uint32_t t = 0; t < f->p.token_count; t++) {
        char login[NAMES_MAX], code[PLAN_CODE_SIZE] = "?";
        uint32_t found, account = plan_account(&f->p, t);
        size_t len = names_login(login, account);
        bool shared = plan_code(&f->p, t, code);
        assert_true(shared == (f->p.kinds[t] == TOKEN_RECOVERY));
        assert_true(account <= t && (shared || account == t));
        assert_true(plan_token(&f->p, login, len, code, strlen(code), &found));
        assert_int_equal(found, t);
        tokens += shared;
        accounts += shared && account == t;
    }
    assert_true(fabs((double)tokens / (double)accounts - 3) < 0.1);
    for (size_t i = 0; i < f->p.change_count; i++)
        assert_int_equal(f->p.accounts[f->p.changes[i].token], ACCOUNT_OWN);
    assert_true(f->p.change_count > 0);
    drop(f);
}

static void one_share_leaves_the_rest_alone(void **state)
{
    struct fixture *a = new_fixture(500, 10 * NS_PER_S, ARRIVALS_POISSON);
    struct fixture *b = new_fixture(500, 10 * NS_PER_S, ARRIVALS_POISSON);

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

// The first outputs of the published generator from the state 1, 2, 3, 4.
static void the_generator_is_the_published_one(void **state)
{
    static const uint64_t want[] = {11520, 0, 1509978240, 1215971899390074240};
    struct rng r = {{1, 2, 3, 4}};

    for (size_t i = 0; i < sizeof want / sizeof *want; i++)
        assert_true(rng_next(&r) == want[i]);
}

static void small_numbers_are_uniform(void **state)
{
    size_t counts[3] = {0};
    struct rng r;

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
        cmocka_unit_test(constant_arrivals_are_exact),
        cmocka_unit_test(rows_share_the_rate),
        cmocka_unit_test(poisson_arrivals_are_poisson),
        cmocka_unit_test(ramps_follow_their_rate),
        cmocka_unit_test(nothing_comes_at_rate_zero),
        cmocka_unit_test(shares_are_kept),
        cmocka_unit_test(upserts_conflict_and_names_are_hostile),
        cmocka_unit_test(a_backlog_comes_first_and_moves_nothing),
        cmocka_unit_test(changes_are_drawn),
        cmocka_unit_test(accounts_get_several_tokens),
        cmocka_unit_test(one_share_leaves_the_rest_alone),
        cmocka_unit_test(the_generator_is_the_published_one),
        cmocka_unit_test(small_numbers_are_uniform),
        cmocka_unit_test(takes_recorded_times_as_they_are),
        cmocka_unit_test(draws_rows_from_the_whole_range),
        cmocka_unit_test(plans_more_than_a_closed_loop_can_need),
    };
    return cmocka_run_group_tests_name("harness.plan", tests, NULL, NULL);
}
