#include "base/unit.h"
#include "check/intervals.h"
#include "check/stages.h"
#include "plan/rng.h"

#define MS NS_PER_MS
#define TOKENS 6

// Six tokens that are planned 10 ms apart and acknowledged 5 ms later. A test puts them into lines.
// The batch limit is 3, the timeout 100 ms.
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
    struct process_record processes[2];
    struct fault_record fault;
    struct subject_log log;
    struct ledger ledger;
};

static void set_up(struct fixture *f)
{
    *f = (struct fixture){0};
    f->phase = (struct load_phase){.name = "one", .for_ns = NS_PER_S};
    f->scenario.load = &f->phase;
    f->scenario.load_count = 1;
    f->scenario.collector.batch_limit = 3;
    f->scenario.collector.batch_timeout_ns = 100 * MS;
    for (uint32_t t = 0; t < TOKENS; t++) {
        f->plan_txns[t] =
            (struct plan_txn){.at_ns = (int64_t)t * 10 * MS, .first_token = t, .rows = 1};
        int64_t sent_ns = NS_PER_S + (int64_t)t * 10 * MS + MS;
        f->txns[t] = (struct txn_record){sent_ns, sent_ns, sent_ns + 4 * MS, TXN_COMMITTED};
        f->txn_of[t] = t;
    }
    f->plan = (struct plan){.txns = f->plan_txns,
        .txn_count = TOKENS,
        .kinds = f->kinds,
        .token_count = TOKENS,
        .load_ns = NS_PER_S};
    f->log = (struct subject_log){.processes = f->processes,
        .process_count = 2,
        .lines = f->lines,
        .deliveries = f->deliveries};
    f->ledger = (struct ledger){.scenario = &f->scenario,
        .plan = &f->plan,
        .txns = f->txns,
        .log = &f->log,
        .tokens = f->tokens,
        .txn_of = f->txn_of,
        .start_ns = NS_PER_S,
        .drain_end_ns = 3 * NS_PER_S};
}

// The next `count` tokens come in one line, read at this time after the start.
static void add_line(struct fixture *f, uint32_t count, int64_t at_ns)
{
    uint32_t line = (uint32_t)f->log.line_count++;

    f->lines[line] = (struct line_record){.read_ns = NS_PER_S + at_ns,
        .first_delivery = (uint32_t)f->log.delivery_count,
        .tokens = count,
        .state = LINE_WHOLE};
    for (uint32_t i = 0; i < count; i++) {
        uint32_t token = (uint32_t)f->log.delivery_count++;
        f->deliveries[token] = (struct delivery){.token = token, .line = line};
        f->tokens[token] = (struct ledger_token){.deliveries = 1, .first_line = line};
    }
}

static void check_stages(const struct fixture *f, uint32_t token, int64_t fire_ns, int64_t lag_ms,
    int64_t insert_ms, int64_t wait_ms, int64_t dequeue_ms)
{
    struct stage_times t = stages_of(&f->ledger, token, fire_ns);

    assert_int_equal(t.lag_ns, lag_ms * MS);
    assert_int_equal(t.insert_ns, insert_ms * MS);
    assert_int_equal(t.wait_ns, wait_ms * MS);
    assert_int_equal(t.dequeue_ns, dequeue_ms * MS);
}

static void a_full_batch_fires_with_its_last_token(void **state)
{
    struct fixture f;
    enum fired_by why;

    set_up(&f);
    add_line(&f, 3, 27 * MS);
    int64_t fire_ns = stages_fire_ns(&f.ledger, &f.lines[0], &why);
    assert_int_equal(why, FIRED_BY_LIMIT);
    assert_int_equal(fire_ns, NS_PER_S + 25 * MS);
    check_stages(&f, 0, fire_ns, 1, 4, 20, 2);
    check_stages(&f, 2, fire_ns, 1, 4, 0, 2);
}

static void a_short_one_fires_with_the_timeout(void **state)
{
    struct fixture f;
    enum fired_by why;

    set_up(&f);
    add_line(&f, 2, 108 * MS);
    add_line(&f, 1, 50 * MS);
    int64_t fire_ns = stages_fire_ns(&f.ledger, &f.lines[0], &why);
    assert_int_equal(why, FIRED_BY_TIMEOUT);
    check_stages(&f, 1, fire_ns, 1, 4, 90, 3);
    // The second line comes before the timeout, as after a reconnect. All the time of its token
    // counts as waiting in the batch.
    fire_ns = stages_fire_ns(&f.ledger, &f.lines[1], &why);
    assert_int_equal(why, FIRED_OTHERWISE);
    check_stages(&f, 2, fire_ns, 1, 4, 25, 0);
}

static void expect_reasons(struct fixture *f, const enum fired_by *want)
{
    unsigned char *whys = stages_reasons(&f->ledger);

    for (size_t i = 0; i < f->log.line_count; i++)
        assert_int_equal(whys[i], want[i]);
    free(whys);
}

// Six tokens are acknowledged at 5 ms, 15 ms and so on up to 55 ms.
static void a_line_has_a_reason(void **state)
{
    struct fixture f;

    set_up(&f);
    f.processes[1].started_ns = NS_PER_S + 47 * MS;
    add_line(&f, 3, 27 * MS);
    add_line(&f, 1, 48 * MS);
    f.lines[1].process = 1;    // the second process: the token waited for its start
    add_line(&f, 1, 60 * MS);  // early
    add_line(&f, 1, 160 * MS); // 105 ms after its acknowledgement
    expect_reasons(
        &f, (enum fired_by[]){FIRED_BY_LIMIT, FIRED_AT_START, FIRED_OTHERWISE, FIRED_BY_TIMEOUT});
    // A fault lies between the first line and the third. The third line holds the token that the
    // fault held up; the fourth does not.
    f.ledger.faults = &f.fault;
    f.ledger.fault_count = 1;
    f.fault = (struct fault_record){
        .began_ns = NS_PER_S + 30 * MS, .ended_ns = NS_PER_S + 31 * MS, .ok = true};
    expect_reasons(
        &f, (enum fired_by[]){FIRED_BY_LIMIT, FIRED_AT_START, FIRED_AFTER_FAULT, FIRED_BY_TIMEOUT});
    f.fault.ended_ns = NS_PER_S + 158 * MS;
    expect_reasons(&f,
        (enum fired_by[]){FIRED_BY_LIMIT, FIRED_AT_START, FIRED_AFTER_FAULT, FIRED_AFTER_FAULT});
    // The full first line comes after the fault. The third line belongs to the same fault only if
    // its token already waited when the first line was read.
    f.fault.began_ns = NS_PER_S + 20 * MS;
    f.fault.ended_ns = NS_PER_S + 21 * MS;
    f.lines[0].read_ns = NS_PER_S + 46 * MS;
    expect_reasons(
        &f, (enum fired_by[]){FIRED_BY_LIMIT, FIRED_AT_START, FIRED_AFTER_FAULT, FIRED_BY_TIMEOUT});
    f.lines[0].read_ns = NS_PER_S + 44 * MS;
    expect_reasons(
        &f, (enum fired_by[]){FIRED_BY_LIMIT, FIRED_AT_START, FIRED_OTHERWISE, FIRED_BY_TIMEOUT});
    // A line that is early, and read after TERM.
    f.ledger.fault_count = 0;
    f.ledger.drain_end_ns = NS_PER_S + 58 * MS;
    expect_reasons(
        &f, (enum fired_by[]){FIRED_BY_LIMIT, FIRED_AT_START, FIRED_AT_END, FIRED_BY_TIMEOUT});
}

static void a_line_before_the_acknowledgement_took_no_time(void **state)
{
    struct fixture f;
    struct stages s;

    set_up(&f);
    add_line(&f, 1, 3 * MS);
    check_stages(&f, 0, f.txns[0].ended_ns, 1, 2, 0, 0);
    stages_make(&s, &f.ledger);
    assert_int_equal(s.before_ack, 1);
    stages_fini(&s);
}

// The four stages of a token add up to its latency, whatever its times are and in whatever order.
static void the_stages_add_up(void **state)
{
    struct fixture f;
    struct rng rng;

    rng_init(&rng, 1, 1);
    for (int round = 0; round < 100000; round++) {
        set_up(&f);
        add_line(&f, TOKENS, 0);
        f.txns[0].sent_ns = f.ledger.start_ns + (int64_t)rng_below(&rng, NS_PER_S);
        f.txns[0].ended_ns = f.txns[0].sent_ns + (int64_t)rng_below(&rng, NS_PER_S);
        f.lines[0].read_ns = f.txns[0].sent_ns + (int64_t)rng_below(&rng, NS_PER_S);
        int64_t fire_ns = (int64_t)rng_below(&rng, 3 * NS_PER_S);
        struct stage_times t = stages_of(&f.ledger, 0, fire_ns);
        assert_true(t.lag_ns >= 0 && t.insert_ns >= 0 && t.wait_ns >= 0 && t.dequeue_ns >= 0);
        assert_int_equal(t.lag_ns + t.insert_ns + t.wait_ns + t.dequeue_ns,
            f.lines[0].read_ns - f.ledger.start_ns);
    }
}

static void sum_seconds(void *arg, const struct interval *i)
{
    struct interval *sum = arg;

    sum->intended += i->intended;
    sum->committed += i->committed;
    sum->delivered += i->delivered;
    sum->lines += i->lines;
    sum->length_ns += i->length_ns;
    sum->backlog = i->backlog;
    histogram_merge(sum->from_intended, i->from_intended);
}

static void the_seconds_are_the_whole_run(void **state)
{
    struct fixture f;
    struct histogram all = {0};
    struct interval sum = {.from_intended = &all};

    set_up(&f);
    f.txns[5].outcome = TXN_ROLLED_BACK;
    add_line(&f, 3, 27 * MS);
    add_line(&f, 1, 1500 * MS);
    histogram_init(&all, NS_PER_S);
    intervals_each_step(&f.ledger, NS_PER_S, sum_seconds, &sum);
    assert_int_equal(sum.length_ns, 2 * NS_PER_S);
    assert_int_equal(sum.intended, 6);
    assert_int_equal(sum.committed, 5);
    assert_int_equal(sum.delivered, 4);
    assert_int_equal(sum.lines, 2);
    assert_int_equal(sum.backlog, 1);
    assert_int_equal(all.total, 4);
    assert_int_equal(all.max, 1470 * MS);
    histogram_fini(&all);
}

static void note_first_second(void *arg, const struct interval *i)
{
    if (i->from_ns == 0)
        *(struct interval *)arg = *i;
}

// A token that was read before its acknowledgement, a second later, takes nothing from the backlog.
// An upsert that finds its account commits no token.
static void each_second_counts_tokens_that_wait(void **state)
{
    struct fixture f;
    struct interval first;

    set_up(&f);
    f.txns[0].ended_ns = f.ledger.start_ns + 1500 * MS;
    f.kinds[5] = TOKEN_CONFLICT;
    add_line(&f, 3, 27 * MS);
    intervals_each_step(&f.ledger, NS_PER_S, note_first_second, &first);
    assert_int_equal(first.intended, 6);
    assert_int_equal(first.committed, 4);
    assert_int_equal(first.delivered, 3);
    assert_int_equal(first.backlog, 2);
}

static void note_phase(void *arg, const struct interval *i)
{
    *(struct interval *)arg = *i;
}

static void a_phase_counts_committed_tokens(void **state)
{
    struct fixture f;
    struct interval phase;

    set_up(&f);
    f.kinds[5] = TOKEN_CONFLICT;
    intervals_each_phase(&f.ledger, note_phase, &phase);
    assert_int_equal(phase.intended, 6);
    assert_int_equal(phase.committed, 5);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_full_batch_fires_with_its_last_token),
        cmocka_unit_test(a_short_one_fires_with_the_timeout),
        cmocka_unit_test(a_line_has_a_reason),
        cmocka_unit_test(a_line_before_the_acknowledgement_took_no_time),
        cmocka_unit_test(the_stages_add_up),
        cmocka_unit_test(the_seconds_are_the_whole_run),
        cmocka_unit_test(each_second_counts_tokens_that_wait),
        cmocka_unit_test(a_phase_counts_committed_tokens),
    };
    return cmocka_run_group_tests_name("harness.stages", tests, NULL, NULL);
}
