// A program on a leash dies with it, even when it has become a daemon.
#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "base/unit.h"
#include "os/paths.h"
#include "os/process.h"

#define DAEMONS 2
#define MANY 4100

static const int64_t limit_ns = 60 * NS_PER_S;

// Starts a program with two daemons: sessions of their own, whose parents are gone.
static pid_t start_leash(struct err *e)
{
    static const char family[] = "(setsid sleep 1000 &); (setsid bash -c 'sleep 1000; :' &); "
                                 "exec sleep 1000";
    char program[PATH_MAX];
    struct process_spec spec = PROCESS_SPEC_INIT;

    if (!path_sibling(program, "../bin/mailproof-leash", e))
        return -1;
    spec.argv = (const char *const[]){program, "bash", "-c", family, NULL};
    spec.death_signal = SIGTERM;
    return process_start(&spec, e);
}

// Waits for the program, both daemons, and the child of one of them.
static void wait_for_family(pid_t leash, pid_t pids[DAEMONS + 2])
{
    int64_t deadline_ns = clock_now_ns() + limit_ns;
    size_t count = 0, grandchildren = 0;

    while (count != DAEMONS + 1 || grandchildren != 1) {
        assert_true(clock_now_ns() < deadline_ns);
        count = process_children(leash, pids, DAEMONS + 1);
        grandchildren = 0;
        for (size_t i = 0; i < count; i++)
            grandchildren += process_children(pids[i], &pids[DAEMONS + 1], 1);
        usleep(1000);
    }
}

static void wait_until_gone(const pid_t pids[DAEMONS + 2])
{
    int64_t deadline_ns = clock_now_ns() + limit_ns;
    struct process_stat stat;

    for (size_t i = 0; i < DAEMONS + 2; i++) {
        while (process_stat(pids[i], &stat) && stat.state != 'Z') {
            assert_true(clock_now_ns() < deadline_ns);
            usleep(1000);
        }
    }
}

static void term_ends_daemons_too(void **state)
{
    pid_t pids[DAEMONS + 2];
    struct err e = {0};
    pid_t leash = start_leash(&e);
    int status;

    assert_true(leash > 0);
    wait_for_family(leash, pids);
    kill(leash, SIGHUP); // the kernel sends this to the group of a parent that died
    kill(leash, SIGTERM);
    assert_true(process_wait(leash, clock_now_ns() + limit_ns, &status));
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    // The leash has reaped them.
    for (size_t i = 0; i < DAEMONS + 2; i++)
        assert_false(process_alive(pids[i]));
}

// Starts a shell on a leash, with MANY children that read from `in`. Returns the leash when they
// are all there, or when the shell has ended because the system has not so many processes.
static pid_t start_many(int in, pid_t *shell, size_t *count)
{
    static const char family[] = "exec 3<&0; i=0; "
                                 "while [ $i -lt $0 ]; do i=$((i + 1)); read x <&3 & done; wait";
    char program[PATH_MAX], many[20];
    pid_t *pids FREED_BY(memory_free) = memory_zeroed(MANY, sizeof *pids);
    struct process_spec spec = PROCESS_SPEC_INIT;
    struct err e;

    snprintf(many, sizeof many, "%d", MANY);
    assert_true(path_sibling(program, "../bin/mailproof-leash", &e));
    spec.argv = (const char *const[]){program, "sh", "-c", family, many, NULL};
    spec.in = in;
    spec.death_signal = SIGTERM;
    pid_t leash = process_start(&spec, &e);
    assert_true(leash > 0);
    while (process_children(leash, shell, 1) != 1)
        usleep(1000);
    do
        *count = process_children(*shell, pids, MANY);
    while (*count < MANY && process_alive(*shell));
    return leash;
}

static void term_ends_any_number(void **state)
{
    pid_t shell, *left FREED_BY(memory_free) = NULL;
    int in[2], status;
    size_t count;

    // When this test breaks off, nobody holds the other end, and the children end.
    assert_int_equal(pipe2(in, O_CLOEXEC), 0);
    pid_t leash = start_many(in[0], &shell, &count);
    kill(leash, SIGTERM);
    assert_true(process_wait(leash, CLOCK_NEVER, &status));
    close(in[0]);
    close(in[1]);
    if (count < MANY)
        skip(); // the system has not so many processes
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    // A process that escapes the leash becomes a child of this test.
    assert_int_equal(process_descendants(getpid(), &left), 0);
}

static void the_parents_death_ends_it(void **state)
{
    pid_t pids[DAEMONS + 2], leash = 0;
    int fds[2];

    assert_int_equal(pipe(fds), 0);
    pid_t parent = fork();
    if (parent == 0) {
        struct err e = {0};
        leash = start_leash(&e);
        if (write(fds[1], &leash, sizeof leash) == sizeof leash)
            pause();
        _exit(1);
    }
    assert_int_equal(read(fds[0], &leash, sizeof leash), sizeof leash);
    assert_true(leash > 0);
    wait_for_family(leash, pids);
    kill(parent, SIGKILL);
    waitpid(parent, NULL, 0);
    wait_until_gone(pids);
    close(fds[0]);
    close(fds[1]);
}

static void it_ends_when_nobody_is_left(void **state)
{
    char program[PATH_MAX];
    struct process_spec spec = PROCESS_SPEC_INIT;
    struct err e = {0};
    int status;

    assert_true(path_sibling(program, "../bin/mailproof-leash", &e));
    spec.argv = (const char *const[]){program, "true", NULL};
    pid_t leash = process_start(&spec, &e);
    assert_true(process_wait(leash, clock_now_ns() + limit_ns, &status));
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(term_ends_daemons_too),
        cmocka_unit_test(term_ends_any_number),
        cmocka_unit_test(the_parents_death_ends_it),
        cmocka_unit_test(it_ends_when_nobody_is_left),
    };

    // mailproof is a subreaper, too. Orphans must reach the leash all the same.
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    return cmocka_run_group_tests_name("leash", tests, NULL, NULL);
}
