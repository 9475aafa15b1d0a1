// Memory, processor time and starvation of real processes.
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "base/unit.h"
#include "subject/process_sample.h"

static void process_sample_are_read(void **state)
{
    struct process_sample sample = {0}, later = {0};

    if (!process_sample_read(getpid(), &sample))
        skip(); // no /proc
    assert_in_range(sample.rss_kb, 100, 10 << 20);
    while (later.cpu_ms < sample.cpu_ms + 20)
        assert_true(process_sample_read(getpid(), &later));
    assert_true(later.wakeups >= sample.wakeups);
    assert_false(process_sample_read(-1, &sample));
}

// A shell may stand in front of the collector. The memory of its child counts too.
static void process_sample_of_a_process_tree(void **state)
{
    struct process_sample sample = {0};
    const size_t size = 32 << 20;
    int64_t deadline_ns = clock_now_ns() + 20 * NS_PER_S;

    if (access("/proc/thread-self/children", R_OK) != 0)
        skip(); // the kernel does not report it
    pid_t shell = fork();
    assert_true(shell >= 0);
    if (shell == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (fork() == 0) {
            prctl(PR_SET_PDEATHSIG, SIGKILL);
            volatile char *held = malloc(size);
            for (size_t i = 0; i < size; i += 1024)
                held[i] = 1;
        }
        for (;;)
            pause();
    }
    while (sample.rss_kb < size / 1024 && clock_now_ns() < deadline_ns)
        assert_true(process_sample_read(shell, &sample));
    kill(shell, SIGKILL);
    waitpid(shell, NULL, 0);
    assert_true(sample.rss_kb >= size / 1024);
    assert_true(sample.processes >= 2);
    assert_true(sample.fds >= 2);
}

static void spin(void)
{
    const int least = 19;

    prctl(PR_SET_PDEATHSIG, SIGKILL);
    setpriority(PRIO_PROCESS, 0, least);
    for (volatile unsigned i = 0;; i++)
        ;
}

// Two busy processes share one processor, and one of them gets hardly any of it. The kernel counts
// a wait only when the process runs again, so its priority is low, but lets it run now and then.
static void starvation_is_measured(void **state)
{
    struct process_sample sample = {0}, later = {0};
    int64_t deadline_ns = clock_now_ns() + 60 * NS_PER_S;
    cpu_set_t before, one;

    if (access("/proc/self/schedstat", R_OK) != 0)
        skip(); // the kernel does not report it
    assert_int_equal(sched_getaffinity(0, sizeof before, &before), 0);
    CPU_ZERO(&one);
    CPU_SET((size_t)sched_getcpu(), &one);
    assert_int_equal(sched_setaffinity(0, sizeof one, &one), 0);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0)
        spin();
    assert_true(process_sample_read(child, &sample));
    later = sample;
    while (later.starved_us < sample.starved_us + 200000 && clock_now_ns() < deadline_ns)
        assert_true(process_sample_read(child, &later));
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    assert_int_equal(sched_setaffinity(0, sizeof before, &before), 0);
    assert_true(later.starved_us >= sample.starved_us + 200000);
    assert_true(later.cpu_ms < sample.cpu_ms + 100);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(process_sample_are_read),
        cmocka_unit_test(process_sample_of_a_process_tree),
        cmocka_unit_test(starvation_is_measured),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
