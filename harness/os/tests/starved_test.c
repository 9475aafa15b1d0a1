// The watch sees who has no processor, and who runs.
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "base/unit.h"
#include "os/process.h"
#include "os/starved.h"
#include "os/usage.h"

static void spin(int policy)
{
    const struct sched_param none = {0};

    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (sched_setscheduler(0, policy, &none) != 0)
        _exit(1);
    for (volatile unsigned i = 0;; i++)
        ;
}

static size_t none(void *arg, pid_t *pids, size_t max)
{
    (void)arg, (void)pids, (void)max;
    return 0;
}

static size_t only(void *arg, pid_t *pids, size_t max)
{
    assert_true(max > 0);
    pids[0] = *(const pid_t *)arg;
    return 1;
}

// Watches for another second in which we are busy, too, and adds what it sees.
static void watch(const struct starved_config *config, struct starved_sample *seen)
{
    int64_t until_ns = clock_now_ns() + NS_PER_S;
    struct err e = {0};
    size_t count;

    struct starved *s = starved_start(config, &e);
    assert_non_null(s);
    while (clock_now_ns() < until_ns)
        ;
    starved_stop(s);
    const struct starved_sample *samples = starved_samples(s, &count);
    assert_true(count >= 2);
    seen->collector_us += samples[count - 1].collector_us;
    seen->own_us += samples[count - 1].own_us;
    seen->busy_us += samples[count - 1].busy_us;
    starved_free(s);
}

static void end(pid_t child)
{
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
}

static void watch_collector(pid_t collector, struct starved_sample *seen)
{
    watch(&(struct starved_config){.collectors = only,
              .arg = &collector,
              .collector_role = "c",
              .load_role = "l",
              .disk = "d"},
        seen);
}

// Watches with a program of this test's name in the role of the disk, and without a collector.
static void watch_disk(pid_t disk, struct starved_sample *seen)
{
    (void)disk;
    watch(&(struct starved_config){.collectors = none,
              .collector_role = "c",
              .load_role = "l",
              .disk = program_invocation_short_name},
        seen);
}

// Two busy processes share one processor.
static void see_starving(void (*look)(pid_t child, struct starved_sample *seen))
{
    struct starved_sample seen = {0};
    int64_t deadline_ns = clock_now_ns() + 60 * NS_PER_S;
    cpu_set_t before, one;

    if (access("/proc/self/schedstat", R_OK) != 0)
        skip(); // this kernel does not count the waits
    assert_int_equal(sched_getaffinity(0, sizeof before, &before), 0);
    CPU_ZERO(&one);
    CPU_SET((size_t)sched_getcpu(), &one);
    assert_int_equal(sched_setaffinity(0, sizeof one, &one), 0);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0)
        spin(SCHED_OTHER);
    while (seen.collector_us < 200000 && clock_now_ns() < deadline_ns)
        look(child, &seen);
    end(child);
    assert_int_equal(sched_setaffinity(0, sizeof before, &before), 0);
    assert_true(seen.collector_us >= 200000);
    assert_true(seen.busy_us > seen.own_us);
}

static void a_starving_collector_is_seen(void **state)
{
    see_starving(watch_collector);
}

static void a_starving_disk_is_seen(void **state)
{
    see_starving(watch_disk);
}

// A collector's thread at the idle policy waits because the collector chose that, so its wait does
// not count.
static void a_humble_thread_does_not_starve(void **state)
{
    struct starved_sample seen = {0};

#ifdef __SANITIZE_THREAD__
    skip(); // ThreadSanitizer has a thread of its own, which is not humble
#endif
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0)
        spin(SCHED_IDLE);
    while (sched_getscheduler(child) != SCHED_IDLE) {
        assert_int_equal(waitpid(child, NULL, WNOHANG), 0); // it has not ended
        usleep(1000);
    }
    watch_collector(child, &seen);
    end(child);
    assert_int_equal(seen.collector_us, 0);
}

// The processor time of a collector's children counts as the collector's.
static void children_of_a_collector_count(void **state)
{
    struct starved_sample seen = {0};
    int64_t deadline_ns = clock_now_ns() + 60 * NS_PER_S;

    if (access("/proc/thread-self/children", R_OK) != 0)
        skip(); // this kernel does not list a thread's children
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (fork() == 0)
            spin(SCHED_OTHER);
        for (;;)
            pause();
    }
    while (seen.own_us < 100000 && clock_now_ns() < deadline_ns)
        watch_collector(child, &seen);
    end(child);
    assert_true(seen.own_us >= 100000);
}

// A server that does not answer shows none of its backends, and they live on.
static void a_process_that_a_round_leaves_out_is_counted_once(void **state)
{
    static struct usage u;
    struct process_stat stat = {0};

    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0)
        spin(SCHED_OTHER);
    while (stat.cpu_ms < 300 && process_stat(child, &stat))
        usleep(1000);
    kill(child, SIGSTOP);
    assert_true(process_wait_stopped(child, clock_now_ns() + 60 * NS_PER_S));
    for (int round = 0; round < 3; round++) {
        usage_begin(&u);
        if (round != 1)
            usage_process(&u, child, USAGE_SERVER);
        usage_end(&u);
    }
    end(child);
    assert_true(u.cpu_s[USAGE_SERVER] < 0.1); // all of its time was used before the first round
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_starving_collector_is_seen),
        cmocka_unit_test(a_starving_disk_is_seen),
        cmocka_unit_test(a_humble_thread_does_not_starve),
        cmocka_unit_test(children_of_a_collector_count),
        cmocka_unit_test(a_process_that_a_round_leaves_out_is_counted_once),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
