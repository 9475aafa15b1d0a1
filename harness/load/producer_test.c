// Tests the load through a subject's own client, a process, without a server.
#include <fcntl.h>
#include <poll.h>
#include <signal.h>

#include "base/unit.h"
#include "load/producer.h"

#define LENGTH_NS (50 * NS_PER_MS)

// The names that the linker gives to a wrapped function and its replacement.
#define WRAP_OF(name) __wrap_##name
#define REAL(name) __real_##name

// The linker replaces read() by our function (--wrap). With it, the client's output, which is the
// only descriptor that does not block, always seems to have bytes, however slowly the client runs.
ssize_t REAL(read)(int fd, void *bytes, size_t count);
ssize_t WRAP_OF(read)(int fd, void *bytes, size_t count);

ssize_t WRAP_OF(read)(int fd, void *bytes, size_t count)
{
    if (!(fcntl(fd, F_GETFL) & O_NONBLOCK))
        return REAL(read)(fd, bytes, count);
    for (size_t i = 0; i < count; i++)
        ((char *)bytes)[i] = i % 2 ? '\n' : 'y';
    return (ssize_t)count;
}

// Counts how often the loop looks for something to do.
static unsigned polls;
int REAL(ppoll)(struct pollfd *, nfds_t, const struct timespec *, const sigset_t *);
int WRAP_OF(ppoll)(struct pollfd *, nfds_t, const struct timespec *, const sigset_t *);

int WRAP_OF(ppoll)(
    struct pollfd *fds, nfds_t count, const struct timespec *limit, const sigset_t *mask)
{
    polls++;
    return REAL(ppoll)(fds, count, limit, mask);
}

static void one_that_never_stops_writing_does_not_hold_up_the_load(void **state)
{
    static const char *const argv[] = {"/usr/bin/yes", NULL}, *const env[] = {NULL};
    const struct load_producer yes = {.argv = argv, .env = env, .dir = "/", .log = -1};
    struct plan_txn txn = {.rows = 1};
    const struct plan plan = {.txns = &txn, .txn_count = 1, .token_count = 1};
    const int64_t now = clock_now_ns();
    const struct load_config config = {
        .plan = &plan, .producer = &yes, .start_ns = now, .deadline_ns = now + LENGTH_NS, .end = 1};
    struct load_progress progress = {0};
    struct load_result result = {0};
    struct err e;

    alarm(100);
    assert_true(producer_run(&config, &progress, &result, &e));
    alarm(0);
    assert_int_equal(result.records[0].outcome, TXN_UNKNOWN);
    assert_true(result.refused > 0);
    assert_non_null(strstr(result.refusal, "'y'"));
    load_result_fini(&result);
}

// A client that reads no more must not cost a processor: its pipe always seems ready for the poll.
// Its child holds the log open until it is killed together with the client.
static void one_that_reads_no_more_does_not_keep_the_load_busy(void **state)
{
    int log[2];
    assert_int_equal(pipe2(log, O_CLOEXEC), 0);
    static const char *const argv[] = {"/bin/sh", "-c", "exec <&-; sleep 100 & wait", NULL};
    static const char *const env[] = {NULL};
    const struct load_producer deaf = {.argv = argv, .env = env, .dir = "/", .log = log[1]};
    struct plan_txn txn = {.at_ns = LENGTH_NS, .rows = 1};
    const struct plan plan = {.txns = &txn, .txn_count = 1, .token_count = 1};
    const int64_t now = clock_now_ns();
    const struct load_config config = {.plan = &plan,
        .producer = &deaf,
        .start_ns = now,
        .deadline_ns = now + 6 * LENGTH_NS,
        .end = 1};
    struct load_progress progress = {0};
    struct load_result result = {0};
    struct err e;

    signal(SIGPIPE, SIG_IGN);
    polls = 0;
    assert_true(producer_run(&config, &progress, &result, &e));
    assert_int_equal(result.records[0].outcome, TXN_UNKNOWN);
    assert_in_range(polls, 1, 100);
    close(log[1]);
    alarm(50);
    assert_int_equal(read(log[0], &(char){0}, 1), 0);
    alarm(0);
    close(log[0]);
    load_result_fini(&result);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_that_never_stops_writing_does_not_hold_up_the_load),
        cmocka_unit_test(one_that_reads_no_more_does_not_keep_the_load_busy),
    };

    return cmocka_run_group_tests_name("harness.producer", tests, NULL, NULL);
}
