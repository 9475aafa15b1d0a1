#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>

#include "queue.h"

#include <stdio.h>

static const struct config config = {.batch_limit = 10};

// Makes a session that learns its backend, and perhaps gets its set-up answered.
static void session(struct queue *q, const char *pid, bool set_up)
{
    queue_new_session(q);
    snprintf(q->backend.pid, sizeof q->backend.pid, "%s", pid);
    snprintf(q->backend.since, sizeof q->backend.since, "since %s", pid);
    q->set_up = set_up;
}

static void a_predecessor_stays_until_it_was_ended(void **state)
{
    (void)state;
    struct queue q;

    assert_true(queue_init(&q, &config, &(struct err){0}));
    session(&q, "1", false);
    assert_string_equal(q.predecessor.pid, "");
    session(&q, "2", true);
    assert_string_equal(q.predecessor.pid, "");
    // Session 3 is to end session 2, and is lost before the answer to that.
    session(&q, "3", false);
    assert_string_equal(q.predecessor.pid, "2");
    session(&q, "", false);
    session(&q, "4", true);
    assert_string_equal(q.predecessor.pid, "2");
    assert_string_equal(q.predecessor.since, "since 2");
    queue_new_session(&q);
    assert_string_equal(q.predecessor.pid, "4");
    assert_string_equal(q.predecessor.since, "since 4");
    assert_string_equal(q.backend.pid, "");
}

static void a_large_batch_gets_more_time(void **state)
{
    (void)state;
    struct queue q;

    assert_true(queue_init(&q, &config, &(struct err){0}));
    assert_int_equal(queue_patience_ms(&q), 4001);
    q.limit = 100000;
    assert_int_equal(queue_patience_ms(&q), 14000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_predecessor_stays_until_it_was_ended),
        cmocka_unit_test(a_large_batch_gets_more_time),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
