// A ticker calls at its times, makes up for nothing, and stops.
#include "base/unit.h"
#include "os/interrupt.h"
#include "os/ticker.h"

#define CALLS 4

static const int64_t period_ns = 5 * NS_PER_MS;

struct calls {
    sem_t enough;
    int n; // belongs to the thread until it is joined
    int64_t due_ns[CALLS], ended_ns[CALLS];
};

// The second call takes four periods.
static void note(void *arg, int64_t due_ns)
{
    struct calls *c = arg;

    if (c->n == CALLS)
        return;
    if (c->n == 1)
        interrupt_sleep_until(clock_now_ns() + 4 * period_ns);
    c->due_ns[c->n] = due_ns;
    c->ended_ns[c->n++] = clock_now_ns();
    if (c->n == CALLS)
        sem_post(&c->enough);
}

static void it_calls_at_its_times(void **state)
{
    struct calls c = {0};
    struct ticker t;
    struct err e;

    sem_init(&c.enough, 0, 0);
    int64_t began_ns = clock_now_ns();
    assert_true(ticker_start(&t, period_ns, note, &c, &e));
    sem_wait(&c.enough);
    assert_true(ticker_stop(&t));
    assert_true(c.due_ns[0] >= began_ns);
    for (int i = 1; i < CALLS; i++) {
        assert_true(c.due_ns[i] >= c.due_ns[i - 1] + period_ns);
        assert_true(c.due_ns[i] >= c.ended_ns[i - 1]);
        assert_true(c.ended_ns[i] >= c.due_ns[i]);
    }
    sem_destroy(&c.enough);
}

// The next call is an hour away.
static void it_stops_while_it_sleeps(void **state)
{
    struct calls c = {.n = CALLS - 1};
    struct ticker t;
    struct err e;

    sem_init(&c.enough, 0, 0);
    assert_true(ticker_start(&t, 3600 * NS_PER_S, note, &c, &e));
    sem_wait(&c.enough);
    assert_true(ticker_stop(&t));
    assert_int_equal(c.n, CALLS);
    sem_destroy(&c.enough);
}

static void it_stops_once(void **state)
{
    struct ticker never = {0}, t;
    struct calls c = {.n = CALLS};
    struct err e;

    assert_false(ticker_stop(&never));
    assert_true(ticker_start(&t, period_ns, note, &c, &e));
    assert_true(ticker_stop(&t));
    assert_false(ticker_stop(&t));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_calls_at_its_times),
        cmocka_unit_test(it_stops_while_it_sleeps),
        cmocka_unit_test(it_stops_once),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
