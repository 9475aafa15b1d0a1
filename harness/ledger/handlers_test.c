// Handlers that die, run at once, or fail each time, read from a log of a few lines.
#include "base/unit.h"
#include "ledger/handlers.h"

enum { LINES = 6 };

struct fixture {
    struct plan plan;
    struct process_record processes[2];
    struct line_record lines[LINES];
    struct delivery deliveries[LINES];
    struct subject_log log;
    struct ledger ledger;
};

// Two processes, of which the first one dies at 100.
static void begin(struct fixture *f)
{
    *f = (struct fixture){
        .plan = {.token_count = 3}, .processes = {{.ended_ns = 100}, {.ended_ns = CLOCK_NEVER}}};
    f->log = (struct subject_log){.processes = f->processes,
        .process_count = 2,
        .lines = f->lines,
        .deliveries = f->deliveries};
    f->ledger = (struct ledger){.plan = &f->plan, .log = &f->log, .drain_end_ns = 1000};
}

static void hand_out(struct fixture *f, uint32_t token, uint32_t process, int64_t at_ns,
    enum reply reply, int64_t replied_ns)
{
    uint32_t i = (uint32_t)f->log.line_count;

    assert_true(i < LINES);
    f->lines[i] = (struct line_record){.process = process, .read_ns = at_ns};
    f->deliveries[i] = (struct delivery){
        .token = token, .line = i, .reply = (uint8_t)reply, .replied_ns = replied_ns};
    f->log.line_count = f->log.delivery_count = i + 1;
}

static struct handlers read_log(struct fixture *f)
{
    struct handlers h;

    handlers_read(&h, &f->ledger);
    return h;
}

static void a_death_is_timed_until_the_job_comes_again(void **state)
{
    struct fixture f;

    begin(&f);
    hand_out(&f, 0, 0, 50, REPLY_SENT, 60); // it was over before the death
    hand_out(&f, 1, 0, 70, REPLY_SENT, 0);
    hand_out(&f, 2, 0, 80, REPLY_SENT, 0);
    hand_out(&f, 1, 1, 350, REPLY_SENT, 360);
    struct handlers h = read_log(&f);
    assert_int_equal(h.in_hand, 2);
    assert_int_equal(h.came_again, 1);
    assert_int_equal(h.again_ns, 250);
    assert_int_equal(h.at_once, 0);
}

static void two_handlers_of_a_job_run_at_once(void **state)
{
    struct fixture f;

    begin(&f);
    hand_out(&f, 0, 1, 50, REPLY_SENT, 400);
    hand_out(&f, 0, 1, 300, REPLY_SENT, 700);
    hand_out(&f, 0, 1, 750, REPLY_SENT, 800); // again, but not at once
    struct handlers h = read_log(&f);
    assert_int_equal(h.at_once, 1);
    assert_int_equal(h.in_hand, 0);
    assert_true(h.again_ns == CLOCK_NEVER);
}

static void a_job_that_always_fails_is_counted(void **state)
{
    struct fixture f;

    begin(&f);
    hand_out(&f, 0, 1, 50, REPLY_PERMANENT, 51);
    hand_out(&f, 1, 1, 60, REPLY_PERMANENT, 61);
    hand_out(&f, 0, 1, 151, REPLY_PERMANENT, 152);
    hand_out(&f, 0, 1, 452, REPLY_PERMANENT, 453);
    struct handlers h = read_log(&f);
    assert_int_equal(h.failing, 2);
    assert_int_equal(h.attempts, 3);
    assert_int_equal(h.gap_min_ns, 100);
    assert_int_equal(h.gap_max_ns, 300);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_death_is_timed_until_the_job_comes_again),
        cmocka_unit_test(two_handlers_of_a_job_run_at_once),
        cmocka_unit_test(a_job_that_always_fails_is_counted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
