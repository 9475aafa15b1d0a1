#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/wait.h>

#include "base/unit.h"
#include "process/holder.h"

static void we_are_alive_and_always_the_same(void **state)
{
    char once[HOLDER_LEN], again[HOLDER_LEN];

    assert_true(holder_self(once, &(struct err){0}));
    assert_true(holder_self(again, &(struct err){0}));
    assert_string_equal(once, again);
    assert_false(holder_is_dead(once));
}

static void a_process_that_ended_is_dead(void **state)
{
    char name[HOLDER_LEN] = "";
    int ends[2];

    assert_int_equal(pipe(ends), 0);
    pid_t child = fork();
    if (child == 0) {
        bool ok = holder_self(name, &(struct err){0});
        _exit(ok && write(ends[1], name, sizeof name) == sizeof name ? 0 : 1);
    }
    assert_int_equal(read(ends[0], name, sizeof name), sizeof name);
    waitid(P_PID, (id_t)child, &(siginfo_t){0}, WEXITED | WNOWAIT);
    assert_true(holder_is_dead(name)); // a zombie writes no more
    waitpid(child, NULL, 0);
    assert_true(holder_is_dead(name));
    close(ends[0]);
    close(ends[1]);
}

// Covers /proc/PID, in a mount namespace of our own.
static bool hide(pid_t pid)
{
    char path[40];

    snprintf(path, sizeof path, "/proc/%ld", (long)pid);
    return (unshare(CLONE_NEWNS) == 0 || unshare(CLONE_NEWUSER | CLONE_NEWNS) == 0) &&
           mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0 &&
           mount("none", path, "tmpfs", 0, NULL) == 0;
}

static void a_process_that_is_hidden_is_alive(void **state)
{
    char name[HOLDER_LEN];
    int status;

    assert_true(holder_self(name, &(struct err){0}));
    pid_t child = fork();
    if (child == 0)
        _exit(hide(getppid()) ? holder_is_dead(name) : 77);
    waitpid(child, &status, 0);
    if (WEXITSTATUS(status) == 77)
        skip(); // namespaces are forbidden here
    assert_int_equal(status, 0);
}

static void a_stranger_never_counts_as_dead(void **state)
{
    char name[HOLDER_LEN];

    assert_false(holder_is_dead(""));
    assert_false(holder_is_dead("random/00"));
    assert_false(holder_is_dead("another-machine/pid:[1]/1/1"));
    assert_true(holder_self(name, &(struct err){0}));
    *strrchr(name, '/') = '\0';
    assert_false(holder_is_dead(name));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(we_are_alive_and_always_the_same),
        cmocka_unit_test(a_process_that_ended_is_dead),
        cmocka_unit_test(a_process_that_is_hidden_is_alive),
        cmocka_unit_test(a_stranger_never_counts_as_dead),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
