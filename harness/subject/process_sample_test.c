// Memory, processor time and starvation of real processes.
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "base/unit.h"
#include "subject/process_sample.h"

static void figures_are_read(void **state)
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

// Starts a process that dies with this one. Returns as fork does.
static pid_t fork_mortal(void)
{
    pid_t pid = fork();

    if (pid == 0)
        prctl(PR_SET_PDEATHSIG, SIGKILL);
    return pid;
}

static _Noreturn void wait_for_end(void)
{
    for (;;)
        pause();
}

static void tell(int ready)
{
    if (write(ready, "", 1) != 1)
        _exit(1);
}

// Waits until somebody has told. False when nobody can any more.
static bool was_told(const int ready[2])
{
    char byte;

    close(ready[1]);
    bool told = read(ready[0], &byte, 1) == 1;
    close(ready[0]);
    return told;
}

static void end(pid_t pid)
{
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
}

// A shell may stand in front of the collector. The memory of its child counts too.
static void process_sample_of_a_process_tree(void **state)
{
    struct process_sample sample = {0};
    const size_t size = 32 << 20;
    int ready[2];

    if (access("/proc/thread-self/children", R_OK) != 0)
        skip(); // the kernel does not report it
    assert_int_equal(pipe(ready), 0);
    pid_t shell = fork_mortal();
    assert_true(shell >= 0);
    if (shell == 0) {
        if (fork_mortal() == 0) {
            // The kernel's count may lag by some pages, so this is more than is asked for.
            volatile char *held = malloc(size + size / 4);
            for (size_t i = 0; i < size + size / 4; i += 1024)
                held[i] = 1;
            tell(ready[1]);
        }
        close(ready[1]);
        wait_for_end();
    }
    bool ok = was_told(ready) && process_sample_read(shell, &sample);
    end(shell);
    assert_true(ok);
    assert_true(sample.rss_kb >= size / 1024);
    assert_int_equal(sample.processes, 2);
    assert_true(sample.fds >= 2);
}

// The list of so many children is longer than a page of memory.
static void process_sample_of_many_children(void **state)
{
    const uint32_t many = 1000;
    struct process_sample sample = {0};
    int ready[2];

    if (access("/proc/thread-self/children", R_OK) != 0)
        skip(); // the kernel does not report it
    assert_int_equal(pipe(ready), 0);
    pid_t parent = fork_mortal();
    assert_true(parent >= 0);
    if (parent == 0) {
        for (uint32_t i = 0; i < many; i++) {
            pid_t child = fork_mortal();
            if (child < 0)
                _exit(1);
            if (child == 0)
                wait_for_end();
        }
        tell(ready[1]);
        wait_for_end();
    }
    bool all = was_told(ready), ok = process_sample_read(parent, &sample);
    end(parent);
    if (!all)
        skip(); // the system has not so many processes
    assert_true(ok);
    assert_int_equal(sample.processes, 1 + many);
}

static pid_t start_spinning(void)
{
    pid_t pid = fork_mortal();

    if (pid == 0) {
        for (volatile unsigned i = 0;; i++)
            ;
    }
    return pid;
}

// Processes of the same priority share one processor, so each waits longer than it runs, however
// busy the machine is. The kernel counts a wait only when the process runs again, so the processor
// time of the process, and not a clock, says when the wait should have been counted.
static void starvation_is_measured(void **state)
{
    struct process_sample sample = {0}, later = {0};
    pid_t spinning[4];
    const size_t count = sizeof spinning / sizeof *spinning;
    const uint64_t starved_us = 200000, ran_ms = 1000;
    cpu_set_t before, one;

    if (access("/proc/self/schedstat", R_OK) != 0)
        skip(); // the kernel does not report it
    assert_int_equal(sched_getaffinity(0, sizeof before, &before), 0);
    CPU_ZERO(&one);
    CPU_SET((size_t)sched_getcpu(), &one);
    assert_int_equal(sched_setaffinity(0, sizeof one, &one), 0);
    for (size_t i = 0; i < count; i++) {
        spinning[i] = start_spinning();
        assert_true(spinning[i] > 0);
    }
    assert_int_equal(sched_setaffinity(0, sizeof before, &before), 0);
    bool ok = process_sample_read(spinning[0], &sample);
    do
        ok = ok && process_sample_read(spinning[0], &later);
    while (ok && later.starved_us < sample.starved_us + starved_us &&
           later.cpu_ms < sample.cpu_ms + ran_ms);
    for (size_t i = 0; i < count; i++)
        end(spinning[i]);
    assert_true(ok);
    assert_true(later.starved_us >= sample.starved_us + starved_us);
    assert_true(later.starved_us - sample.starved_us > (later.cpu_ms - sample.cpu_ms) * 1000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(figures_are_read),
        cmocka_unit_test(process_sample_of_a_process_tree),
        cmocka_unit_test(process_sample_of_many_children),
        cmocka_unit_test(starvation_is_measured),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
