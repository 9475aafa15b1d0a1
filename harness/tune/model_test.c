#include <math.h>

#include "base/unit.h"
#include "tune/model.h"
#include "tune/measured.h"

#define MS NS_PER_MS
#define TOKENS 12

static void assert_near(double got, double want, double off)
{
    if (!(fabs(got - want) <= off))
        fail_msg("%g instead of %g", got, want);
}

// --- query times ----------------------------------------------------------------------

// A small batch gets the time of a small one, however long the large ones took.
static void draws_by_size(void **state)
{
    struct queries q = {0};
    struct rng rng;

    rng_init(&rng, 1, 0);
    for (int i = 0; i < 200; i++) {
        queries_add(&q.reads, 50, 5 * MS + i);
        queries_add(&q.reads, 1, MS + i);
    }
    queries_ready(&q);
    for (int i = 0; i < 1000; i++) {
        assert_in_range(queries_draw(&q.reads, 1, &rng), MS, MS + 199);
        assert_in_range(queries_draw(&q.turns, 50, &rng), 5 * MS, 5 * MS + 199);
        // No batch of 20 was measured, so a time is drawn from both neighbours.
        assert_true(queries_draw(&q.reads, 20, &rng) >= MS);
    }
    assert_near(queries_median_ms(&q.reads), 5, 0.001);
    queries_fini(&q);
}

static void files_of_query_times(void **state)
{
    static const char *const bad[] = {"", "tokens\n", "kind,tokens,ms\nread,1\n",
        "kind,tokens,ms\nread,1,2", "kind,tokens,ms\nwrite,1,2\n", "kind,tokens,ms\nread,1,-2\n",
        "kind,tokens,ms\nread,1,2x\n", "kind,tokens,ms\n\n", "kind,tokens,ms\n"};
    struct queries q = {0}, again = {0};
    struct buf text;
    struct err e;

    queries_add(&q.reads, 3, 1234567);
    queries_add(&q.turns, 7, 2000000);
    buf_init(&text, 4096);
    assert_true(queries_print_csv(&q, &text));
    assert_string_equal(buf_str(&text), "kind,tokens,ms\nread,3,1.234567\nturn,7,2.000000\n");
    assert_true(queries_parse_csv(&again, buf_str(&text), &e));
    assert_int_equal(again.reads.count, 1);
    assert_int_equal(again.turns.items[0].tokens, 7);
    assert_in_range(again.reads.items[0].ns, 1234566, 1234568);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        if (queries_parse_csv(&again, bad[i], &e))
            fail_msg("'%s' was taken", bad[i]);
        assert_int_equal(e.kind, ERR_USAGE);
    }
    buf_fini(&text);
    queries_fini(&q);
    queries_fini(&again);
}

// --- the window -----------------------------------------------------------------------

// Simulates tokens that arrive at the times at_ms of a period, and checks the number of batches and
// the mean latency. Every query takes read_ms or turn_ms (queries.h).
static void follow(int64_t period_ms, const int64_t *at_ms, size_t count, int limit,
    int64_t timeout_ms, int64_t read_ms, int64_t turn_ms, uint64_t batches, int64_t mean_ms)
{
    int64_t at_ns[TOKENS];
    const struct load_phase trace = {.for_ns = period_ms * MS,
        .arrivals = ARRIVALS_TRACE,
        .trace_ns = at_ns,
        .trace_count = count,
        .rows_from = 1,
        .rows_to = 1};
    struct queries q = {0};
    const struct model m = {.phases = &trace,
        .phase_count = 1,
        .limit = limit,
        .timeout_ns = timeout_ms * MS,
        .queries = &q,
        .period_ns = period_ms * MS,
        .ends = true,
        .seed = 1};
    struct model_result r;
    struct err e;

    for (size_t i = 0; i < count; i++)
        at_ns[i] = at_ms[i] * MS;
    queries_add(&q.reads, 1, read_ms * MS);
    queries_add(&q.turns, 1, turn_ms * MS);
    queries_ready(&q);
    assert_true(model_run(&r, &m, &e));
    assert_int_equal(r.tokens, count);
    assert_int_equal(r.batches, batches);
    assert_near(histogram_mean(&r.latency) / MS, (double)mean_ms, 0.01);
    model_result_fini(&r);
    queries_fini(&q);
}

static void traces_by_hand(void **state)
{
    const int64_t spread[] = {0, 100, 200}, burst[] = {50, 50, 50, 50};
    const int64_t near[] = {0, 10, 29};

    // Each token is alone in its batch. It waits for the timeout and a read.
    follow(1000, spread, 3, 10, 20, 1, 5, 3, 21);
    // Two batches of two tokens. Both fire at once, and the second is written a turn after the
    // first. Latencies: 2, 2, 6, 6.
    follow(1000, burst, 4, 2, 20, 2, 4, 2, 4);
    // Four batches of one token. All fire at once. Latencies: 2, 6, 10, 14.
    follow(1000, burst, 4, 1, 20, 2, 4, 4, 8);
    // The third token comes during the read and is still in the batch. Latencies: 35, 25, 6.
    follow(1000, near, 3, 10, 20, 15, 5, 1, 22);
    // In floating point, one token in 21 ms is a rate at which a little less than one token arrives
    // in 21 ms.
    follow(21, spread, 1, 10, 20, 1, 5, 1, 21);
}

// The rows of one transaction come together.
static void transactions_of_several_rows(void **state)
{
    const struct load_phase phase = {.for_ns = NS_PER_S,
        .arrivals = ARRIVALS_POISSON,
        .rate_from = 100,
        .rate_to = 100,
        .rows_from = 20,
        .rows_to = 20};
    struct queries q = {0};
    const struct model m = {.phases = &phase,
        .phase_count = 1,
        .limit = 20,
        .timeout_ns = NS_PER_S,
        .queries = &q,
        .period_ns = 1000 * NS_PER_S,
        .seed = 1};
    struct model_result r;
    struct err e;

    queries_add(&q.reads, 1, 0);
    queries_ready(&q);
    assert_true(model_run(&r, &m, &e));
    assert_near((double)r.tokens, 100e3, 5e3);
    // Each transaction fills a batch at once, so no token waits.
    assert_true(histogram_percentile(&r.latency, 100) == 0);
    model_result_fini(&r);
    queries_fini(&q);
}

// --- a run's ledger -------------------------------------------------------------------

struct fixture {
    struct scenario scenario;
    struct load_phase phase;
    struct plan plan;
    struct plan_txn plan_txns[TOKENS];
    uint8_t kinds[TOKENS];
    struct txn_record txns[TOKENS];
    uint32_t txn_of[TOKENS];
    struct ledger_token tokens[TOKENS];
    struct line_record lines[TOKENS];
    struct delivery deliveries[TOKENS];
    struct subject_log log;
    struct ledger ledger;
};

// Makes the ledger of a run: tokens whose commits are acknowledged 10 ms apart, and a line for
// every two of them, read 3 ms after the later acknowledgement.
static void set_up(struct fixture *f)
{
    *f = (struct fixture){.phase = {.for_ns = NS_PER_S}};
    f->scenario = (struct scenario){.load = &f->phase, .load_count = 1};
    f->scenario.collector.instances = 1;
    f->scenario.collector.batch_limit = 2;
    f->scenario.collector.batch_timeout_ns = 100 * MS;
    for (uint32_t t = 0; t < TOKENS; t++) {
        int64_t ack_ns = NS_PER_S + (int64_t)t * 10 * MS;
        f->txns[t] = (struct txn_record){ack_ns - MS, ack_ns - MS, ack_ns, TXN_COMMITTED};
        f->plan_txns[t] = (struct plan_txn){.first_token = t, .rows = 1};
        f->txn_of[t] = t;
        f->deliveries[t] = (struct delivery){.token = t, .line = t / 2};
        f->tokens[t] = (struct ledger_token){.deliveries = 1, .first_line = t / 2};
        f->lines[t / 2] = (struct line_record){.read_ns = ack_ns + 3 * MS,
            .first_delivery = t / 2 * 2,
            .tokens = 2,
            .state = LINE_WHOLE};
    }
    f->plan = (struct plan){.txns = f->plan_txns,
        .txn_count = TOKENS,
        .kinds = f->kinds,
        .token_count = TOKENS,
        .load_ns = NS_PER_S};
    f->log = (struct subject_log){.lines = f->lines,
        .line_count = TOKENS / 2,
        .deliveries = f->deliveries,
        .delivery_count = TOKENS};
    f->ledger = (struct ledger){.scenario = &f->scenario,
        .plan = &f->plan,
        .txns = f->txns,
        .log = &f->log,
        .tokens = f->tokens,
        .txn_of = f->txn_of,
        .start_ns = NS_PER_S,
        .load_end_ns = 2 * NS_PER_S};
}

static void recordings(void **state)
{
    struct fixture f;
    struct recording r;

    set_up(&f);
    // The third line comes late, after the fourth batch was full, so the fourth had to wait for it.
    f.lines[2].read_ns = NS_PER_S + 75 * MS;
    f.lines[3].read_ns = NS_PER_S + 77 * MS;
    // This transaction was rolled back, so its token did not arrive.
    f.txns[11].outcome = TXN_ROLLED_BACK;
    f.tokens[11].deliveries = 0;
    recording_take(&r, &f.ledger);
    assert_int_equal(r.count, TOKENS - 1);
    assert_int_equal(r.arrivals_ns[10], 100 * MS);
    assert_int_equal(r.length_ns, NS_PER_S);
    assert_int_equal(r.queries.turns.count, 1);
    assert_int_equal(r.queries.turns.items[0].ns, 2 * MS);
    assert_int_equal(r.queries.reads.count, 5);
    assert_int_equal(r.queries.reads.items[0].ns, 3 * MS);
    assert_int_equal(r.queries.reads.items[2].ns, 25 * MS);
    recording_fini(&r);
    // With several collectors, a batch need not wait for the line before, which may be another
    // collector's. So no query times can be told, and the recording stays empty.
    f.scenario.collector.instances = 2;
    recording_take(&r, &f.ledger);
    assert_int_equal(r.count, 0);
    recording_fini(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(draws_by_size),
        cmocka_unit_test(files_of_query_times),
        cmocka_unit_test(traces_by_hand),
        cmocka_unit_test(transactions_of_several_rows),
        cmocka_unit_test(recordings),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
