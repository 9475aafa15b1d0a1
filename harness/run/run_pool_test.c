#include "run/run_pool.h"

#include <signal.h>
#include <sys/resource.h>

#include "base/unit.h"

// Lowers the limit of open files to those that are open. Returns the old limit.
static struct rlimit open_no_more(void)
{
    struct rlimit old, few;
    int next = dup(STDOUT_FILENO);

    close(next);
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &old), 0);
    few = old;
    few.rlim_cur = (rlim_t)next;
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
    return old;
}

// A worker dies and frees one file, but to start another one takes two, the ends of a socket.
static void a_pool_without_workers_says_so(void **state)
{
    static const struct run_pool_job job = {.number = 7, .path = "none.yaml"};
    struct run_pool pool = {.logs = "/tmp"};
    struct run_pool_answer answer;
    struct err e = {0};

    assert_true(run_pool_start(&pool, 1, &e));
    assert_false(run_pool_lost(&pool, &e));
    assert_int_equal(kill(pool.workers[0].pid, SIGKILL), 0);
    struct rlimit old = open_no_more();
    assert_true(run_pool_give(&pool, 0, &job, &e));
    assert_true(run_pool_answer(&pool, clock_now_ns() + 10 * NS_PER_S, &answer));
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &old), 0);
    assert_int_equal(answer.number, 7);
    assert_string_equal(answer.why, "the harness died in a run; no other can be started");
    assert_int_equal(run_pool_idle(&pool), -1);
    assert_true(run_pool_lost(&pool, &e));
    assert_non_null(strstr(e.text, "all workers have died: cannot make a socket for a worker"));
    assert_int_equal(e.kind, ERR_SYSTEM);
    run_pool_end(&pool);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_pool_without_workers_says_so),
    };

    return cmocka_run_group_tests_name("harness.run-pool", tests, NULL, NULL);
}
