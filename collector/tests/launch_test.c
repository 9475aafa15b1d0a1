#include "base/unit.h"
#include "process/launch.h"

#include <sys/resource.h>

// Returns the kind of the error with which the launcher fails to start the command.
static enum err_kind start_fails(char *const command[])
{
    struct err e;
    pid_t pid = 0;

    assert_true(launch_open(command, &e));
    assert_false(launch_start(STDIN_FILENO, STDOUT_FILENO, &pid, &e));
    assert_int_equal(pid, 0);
    return e.kind;
}

// A machine without processes must not look like a wrong setting: a service manager does not start
// a collector again that has ended because of its settings.
static void a_lack_passes(void **state)
{
    char *const command[] = {"true", NULL};
    struct rlimit usual, few;

    for (int fd = STDERR_FILENO + 1; fd < 256; fd++)
        close(fd);
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &usual), 0);
    few = usual;
    // Standard files, the launcher's socket, and the two that it is sent: one is left, and no pipe
    // can be made.
    few.rlim_cur = 7;
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
    enum err_kind kind = start_fails(command);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &usual), 0);
    assert_int_equal(kind, ERR_SYSTEM);
}

static void an_unknown_command_is_a_wrong_setting(void **state)
{
    char *const command[] = {"/nonexistent/sender", NULL};

    assert_int_equal(start_fails(command), ERR_USAGE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_lack_passes),
        cmocka_unit_test(an_unknown_command_is_a_wrong_setting),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
