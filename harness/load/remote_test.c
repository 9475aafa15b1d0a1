// Tests several generators without a server: clocks, the merging of records, the part of a lost
// worker, and results that come over a socket.
#include <sys/socket.h>

#include "base/unit.h"
#include "load/worker_result.h"
#include "load/channel.h"
#include "load/remote.h"

#define TXNS 10

// The other clock is 1000 ahead; the way to it takes longer than the way back.
static void the_quickest_answer_tells_the_offset(void **state)
{
    static const int64_t readings[][3] = {{100, 1190, 200}, {300, 1309, 312}, {400, 1490, 500}};
    struct remote_clock clock = remote_clock(readings, 3);

    assert_int_equal(clock.bound_ns, 6);
    assert_int_equal(clock.offset_ns, 1003);
    // The truth lies within the bound, whichever way took longer.
    assert_true(llabs(clock.offset_ns - 1000) <= clock.bound_ns);
}

// The other clock gains 40 between the two measurements. The bound holds at every time between
// them.
static void a_drift_widens_the_bound(void **state)
{
    const struct remote_clock first = {1000, 6}, last = {1040, 9}, back = {960, 2};
    struct remote_clock over = remote_clock_combine(&first, &last);

    assert_int_equal(over.offset_ns, 1020);
    assert_int_equal(over.bound_ns, 29);
    over = remote_clock_combine(&first, &back);
    assert_int_equal(over.offset_ns, 980);
    assert_int_equal(over.bound_ns, 26);
    over = remote_clock_combine(&first, &first);
    assert_int_equal(over.offset_ns, 1000);
    assert_int_equal(over.bound_ns, 6);
}

static void records_are_widened_by_the_bound(void **state)
{
    const struct remote_clock clock = {.offset_ns = 1000, .bound_ns = 6};
    const struct txn_record theirs = {1100, 1200, 1300, TXN_COMMITTED};
    struct txn_record ours = remote_to_run_clock(&theirs, &clock);

    assert_int_equal(ours.sent_ns, 94);
    assert_int_equal(ours.commit_ns, 194);
    assert_int_equal(ours.ended_ns, 306);
    assert_int_equal(ours.outcome, TXN_COMMITTED);
    // An event that never happened has no time on any clock.
    ours = remote_to_run_clock(&(const struct txn_record){.outcome = TXN_NOT_SENT}, &clock);
    assert_int_equal(ours.sent_ns, 0);
    assert_int_equal(ours.commit_ns, 0);
}

struct bench {
    struct plan_txn txns[TXNS];
    struct plan plan;
    struct load_config config;
};

static void set_up(struct bench *b)
{
    *b = (struct bench){0};
    for (int i = 0; i < TXNS; i++)
        b->txns[i] =
            (struct plan_txn){.at_ns = INT64_C(100) * i, .first_token = (uint32_t)i, .rows = 1};
    b->plan.txns = b->txns;
    b->plan.txn_count = TXNS;
    b->config = (struct load_config){.plan = &b->plan, .start_ns = 5000, .end = TXNS};
}

// The worker is lost at the time of the sixth transaction, and may go on sending until it notices.
static void the_part_of_a_lost_worker_is_unknown(void **state)
{
    const struct remote_clock clock = {.offset_ns = 1000, .bound_ns = 7};
    struct txn_record records[TXNS] = {0};
    struct load_result result = {.records = records};
    struct bench b;

    set_up(&b);
    remote_mark_lost(&result, &b.config, &(const struct load_part){1, 2}, &clock, 5500);
    for (int i = 0; i < TXNS; i++)
        assert_int_equal(records[i].outcome, i % 2 == 1 ? TXN_UNKNOWN : TXN_NOT_SENT);
    assert_int_equal(records[3].commit_ns, 5293); // the worker's clock may be ahead by this much
    assert_int_equal(records[3].ended_ns, 5500);
    assert_int_equal(records[7].commit_ns, 5693);
    assert_int_equal(records[7].ended_ns, 5693);
}

static void parcels_come_to_their_places(void **state)
{
    pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    const struct remote_clock clock = {.offset_ns = 1000, .bound_ns = 5};
    struct txn_record theirs[TXNS] = {0}, ours[TXNS] = {0};
    struct load_result sent = {.records = theirs, .refused = 2, .refusal = "no room", .cpu_s = 0.5};
    struct load_result got = {.records = ours, .refused = 1, .refusal = "first", .cpu_s = 1};
    static struct channel from, to;
    char line[CHANNEL_LINE_MAX];
    struct err e = {0};
    struct bench b;
    int fds[2];

    set_up(&b);
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, fds), 0);
    channel_init(&from, fds[0], fds[0]);
    channel_init(&to, fds[1], fds[1]);
    for (int i = 0; i < TXNS; i++)
        theirs[i] = (struct txn_record){2000 + i, 3000 + i, 4000 + i, TXN_COMMITTED};
    stalls_note(&sent.stalls, 2000, 2000 + 9000000);
    b.config.part = (struct load_part){2, 3};
    const struct worker_result_target target = {&b.config, b.config.part, clock, &got, &lock};
    assert_true(worker_result_send(&from, &b.config, &sent, &e));
    assert_true(channel_line(&to, line, &e));
    assert_true(worker_result_take(&to, line, &target, &e));
    for (int i = 0; i < TXNS; i++) {
        bool mine = i % 3 == 2;
        assert_int_equal(ours[i].outcome, mine ? TXN_COMMITTED : TXN_NOT_SENT);
        assert_int_equal(ours[i].sent_ns, mine ? 995 + i : 0);
        assert_int_equal(ours[i].ended_ns, mine ? 3005 + i : 0);
    }
    assert_int_equal(got.refused, 3);
    assert_string_equal(got.refusal, "first");
    assert_true(got.cpu_s == 1.5);
    assert_int_equal(got.stalls.count, 1);
    assert_int_equal(got.stalls.kept[0].from_ns, 1000);

    // A result that breaks off is refused.
    assert_true(channel_say(&from, &e, "done 0 0 0 0 0 0 "));
    channel_close(&from);
    assert_true(channel_line(&to, line, &e));
    assert_false(worker_result_take(&to, line, &target, &e));
    channel_close(&to);
    stalls_fini(&sent.stalls);
    stalls_fini(&got.stalls);
}

static void another_plan_has_another_fingerprint(void **state)
{
    uint8_t kinds[TXNS] = {0};
    struct bench b;

    set_up(&b);
    b.plan.kinds = kinds;
    b.plan.token_count = TXNS;
    uint64_t print = remote_fingerprint(&b.plan);
    assert_true(remote_fingerprint(&b.plan) == print);
    b.txns[7].at_ns++;
    assert_false(remote_fingerprint(&b.plan) == print);
    b.txns[7].at_ns--;
    kinds[9] = 1;
    assert_false(remote_fingerprint(&b.plan) == print);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_quickest_answer_tells_the_offset),
        cmocka_unit_test(a_drift_widens_the_bound),
        cmocka_unit_test(records_are_widened_by_the_bound),
        cmocka_unit_test(the_part_of_a_lost_worker_is_unknown),
        cmocka_unit_test(parcels_come_to_their_places),
        cmocka_unit_test(another_plan_has_another_fingerprint),
    };

    return cmocka_run_group_tests_name("remote", tests, NULL, NULL);
}
