// Simulates 50,000 inserts a second by four workers. Each makes the plan by itself and has a clock
// of its own. The merged records and histograms are those of one generator, to the nanosecond.
#include <pthread.h>
#include <sys/socket.h>

#include "load/worker_result.h"
#include "load/channel.h"
#include "load/remote.h"
#include "measure/histogram.h"
#include "plan/plan_fixture.h"

#define WORKERS 4
#define RATE 50000
#define START_NS INT64_C(1000000000)

// Returns the server's answer to the i-th transaction. Every 97th takes long, and every 1009th
// rolls back. A worker whose clock is ahead writes later times.
static struct txn_record answer(const struct plan *plan, size_t i, int64_t ahead_ns)
{
    int64_t sent_ns = START_NS + plan->txns[i].at_ns + (int64_t)(i * 7919 % 100003) + ahead_ns;
    int64_t took_ns = (int64_t)(i * 104729 % 1000003) + (i % 97 == 0 ? 50000000 : 0);

    return (struct txn_record){.sent_ns = sent_ns,
        .commit_ns = sent_ns + took_ns / 2,
        .ended_ns = sent_ns + took_ns,
        .outcome = i % 1009 == 0 ? TXN_ROLLED_BACK : TXN_COMMITTED};
}

static void record(
    struct histogram *h, const struct plan *plan, const struct txn_record *r, size_t i)
{
    histogram_record(h, r->ended_ns - START_NS - plan->txns[i].at_ns);
}

struct worker {
    struct channel channel;
    struct load_part part;
    int64_t ahead_ns;
    size_t sent;
    uint64_t print;
    pthread_t thread;
};

static void *work(void *arg)
{
    struct worker *w = arg;
    struct fixture *f = new_fixture(RATE, 2 * NS_PER_S, ARRIVALS_POISSON);
    struct err e = {0};

    make(f);
    w->print = remote_fingerprint(&f->p);
    struct load_config config = {.plan = &f->p, .end = f->p.txn_count, .part = w->part};
    struct load_result result = {.records = calloc(f->p.txn_count, sizeof *result.records)};
    for (size_t i = w->part.part; i < f->p.txn_count; i += w->part.of) {
        result.records[i] = answer(&f->p, i, w->ahead_ns);
        w->sent++;
    }
    if (!worker_result_send(&w->channel, &config, &result, &e))
        w->sent = 0;
    free(result.records);
    drop(f);
    return NULL;
}

static void take(struct channel *to, struct worker *w, struct load_config *config,
    struct load_result *all, struct err *e)
{
    pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    const struct worker_result_target target = {
        config, w->part, {.offset_ns = w->ahead_ns}, all, &lock};
    char line[CHANNEL_LINE_MAX];

    assert_true(channel_line(to, line, e));
    assert_true(worker_result_take(to, line, &target, e));
    pthread_join(w->thread, NULL);
    assert_int_equal(w->print, remote_fingerprint(config->plan));
}

static void run_workers(struct load_config *config, struct load_result *all)
{
    static struct channel to;
    size_t fewest = SIZE_MAX, most = 0;
    struct err e = {0};

    for (unsigned k = 0; k < WORKERS; k++) {
        static struct worker w;
        int fds[2];
        assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, fds), 0);
        w = (struct worker){.part = {k, WORKERS}, .ahead_ns = (int64_t)k * 777777777 - NS_PER_S};
        channel_init(&w.channel, fds[0], fds[0]);
        channel_init(&to, fds[1], fds[1]);
        assert_int_equal(pthread_create(&w.thread, NULL, work, &w), 0);
        take(&to, &w, config, all, &e);
        fewest = w.sent < fewest ? w.sent : fewest;
        most = w.sent > most ? w.sent : most;
        channel_close(&w.channel);
        channel_close(&to);
    }
    assert_true(most - fewest <= 1); // each of four workers has a quarter of the rate
}

static void four_workers_record_what_one_generator_does(void **state)
{
    struct fixture *f = new_fixture(RATE, 2 * NS_PER_S, ARRIVALS_POISSON);

    make(f);
    size_t n = f->p.txn_count;
    struct load_config config = {.plan = &f->p, .end = n};
    struct load_result all = {.records = calloc(n, sizeof *all.records)};
    assert_true(n > RATE);
    run_workers(&config, &all);
    for (size_t i = 0; i < n; i++) {
        struct txn_record one = answer(&f->p, i, 0);
        assert_int_equal(all.records[i].sent_ns, one.sent_ns);
        assert_int_equal(all.records[i].commit_ns, one.commit_ns);
        assert_int_equal(all.records[i].ended_ns, one.ended_ns);
        assert_int_equal(all.records[i].outcome, one.outcome);
    }
    free(all.records);
    drop(f);
}

static void histograms_add_up(void **state)
{
    struct fixture *f = new_fixture(RATE, 2 * NS_PER_S, ARRIVALS_POISSON);
    struct histogram one, part[WORKERS], sum;

    make(f);
    histogram_init(&one, NS_PER_S);
    histogram_init(&sum, NS_PER_S);
    for (size_t k = 0; k < WORKERS; k++)
        histogram_init(&part[k], NS_PER_S);
    for (size_t i = 0; i < f->p.txn_count; i++) {
        struct txn_record r = answer(&f->p, i, 0);
        record(&one, &f->p, &r, i);
        record(&part[i % WORKERS], &f->p, &r, i);
    }
    for (size_t k = 0; k < WORKERS; k++) {
        histogram_merge(&sum, &part[k]);
        histogram_fini(&part[k]);
    }
    assert_int_equal(sum.total, f->p.txn_count);
    assert_int_equal(sum.min, one.min);
    assert_int_equal(sum.max, one.max);
    assert_int_equal(sum.count_len, one.count_len);
    assert_memory_equal(sum.counts, one.counts, one.count_len * sizeof *one.counts);
    histogram_fini(&one);
    histogram_fini(&sum);
    drop(f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(four_workers_record_what_one_generator_does),
        cmocka_unit_test(histograms_add_up),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
