// Tests the subject with real processes: scripts that run a collector, processes that end at any
// moment, and failures of the harness itself.
#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "base/unit.h"
#include "os/process.h"
#include "plan/plan.h"
#include "subject/subject.h"

static const unsigned char key[32];
static const char *const no_env[] = {NULL};

static struct subject *start(char *const *command, int instances)
{
    struct subject_config config = {
        .command = command, .env = no_env, .key = key, .instances = instances, .token_count = 1};
    struct err e;
    struct subject *s = subject_start(&config, &e);

    assert_non_null(s);
    return s;
}

// A process ends when it is told to, at any moment of its start.
static void a_starting_process_ends_too(void **state)
{
    static char *const command[] = {"/bin/sleep", "1000", NULL};

    alarm(100); // a stop that waits for ever fails the test
    for (int i = 0; i < 100; i++) {
        struct subject *s = start(command, 2);
        usleep((useconds_t)i * 20);
        subject_free(s);
    }
    alarm(0);
    assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
}

// A process that is just starting when all are told to end must not count as one that ignored TERM.
static void a_starting_process_is_not_killed(void **state)
{
    static char *const command[] = {"/bin/sleep", "1000", NULL};

    alarm(100);
    for (int i = 0; i < 100; i++) {
        struct subject *s = start(command, 2);
        usleep((useconds_t)i * 20);
        subject_stop(s, 10 * NS_PER_S);
        const struct subject_log *log = subject_log(s);
        for (size_t k = 0; k < log->process_count; k++) {
            assert_true(log->processes[k].asked);
            assert_int_equal(log->processes[k].status, SIGTERM);
        }
        subject_free(s);
    }
    alarm(0);
}

// --- a script that runs the collector --------------------------------------------

// Waits until the shell and its command run, and returns the shell's pid.
static pid_t started(struct subject *s)
{
    pid_t pid = 0;

    while (subject_read_bytes(s) == 0)
        usleep(1000);
    assert_int_equal(subject_signal(s, -1, 0, &pid), 1);
    return pid;
}

static void await_end(struct subject *s, pid_t pid)
{
    while (!subject_ended(s, &pid, 1))
        usleep(1000);
}

// Checks that no process is left, alive or not. This process is a subreaper, so every process that
// is left is its child.
static void expect_nobody_left(void)
{
    int64_t deadline_ns = clock_now_ns() + 10 * NS_PER_S;

    while (waitpid(-1, NULL, WNOHANG) >= 0 && clock_now_ns() < deadline_ns)
        usleep(1000);
    assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
}

static void a_script_s_command_is_killed_with_it(void **state)
{
    static char *const command[] = {"/bin/sh", "-c", "sleep 1000 & echo ready; wait", NULL};
    pid_t pid, children[2];

    alarm(100);
    struct subject *s = start(command, 1);
    pid = started(s);
    assert_int_equal(process_children(pid, children, 2), 1);
    assert_int_equal(subject_signal(s, 0, SIGKILL, &pid), 1);
    await_end(s, pid);
    expect_nobody_left();
    subject_free(s);
    alarm(0);
}

static void a_script_s_command_is_paused_with_it(void **state)
{
    static char *const command[] = {
        "/bin/sh", "-c", "while :; do :; done & echo ready; wait", NULL};
    pid_t pid, child;

    alarm(100);
    struct subject *s = start(command, 1);
    pid = started(s);
    assert_int_equal(process_children(pid, &child, 1), 1);
    assert_int_equal(subject_signal(s, 0, SIGSTOP, &pid), 1);
    assert_true(process_wait_group_stopped(pid, clock_now_ns() + 10 * NS_PER_S));
    assert_true(process_wait_stopped(child, clock_now_ns()));
    subject_signal(s, 0, SIGCONT, &pid);
    subject_free(s);
    expect_nobody_left();
    alarm(0);
}

// The shell dies of TERM at once; its command still writes a line.
static void a_script_s_command_may_finish(void **state)
{
    static char *const command[] = {"/bin/sh", "-c",
        "sh -c 'trap \"sleep 0.2; echo last; exit\" TERM; echo first; while :; do sleep 0.01; "
        "done'; :",
        NULL};

    alarm(100);
    struct subject *s = start(command, 1);
    started(s);
    subject_stop(s, 5 * NS_PER_S);
    assert_int_equal(subject_log(s)->line_count, 2);
    subject_free(s);
    expect_nobody_left();
    alarm(0);
}

// A script ends by itself. Its children are killed, so that none writes beside its successor.
static void a_script_s_children_are_killed(void **state)
{
    static char *const command[] = {"/bin/sh", "-c", "sleep 1000 & echo ready", NULL};

    alarm(100);
    struct subject *s = start(command, 1);
    while (!subject_gave_up(s, NULL))
        usleep(1000);
    expect_nobody_left();
    subject_free(s);
    alarm(0);
}

// Waits until the processes have written this many lines: each one writes "ready" when it starts.
static void await_ready(struct subject *s, size_t times)
{
    while (subject_read_bytes(s) < strlen("ready\n") * times)
        usleep(1000);
}

// --- no restart ------------------------------------------------------------------------

// A process may join another group, such as ours. Signals to its old group do not reach it there.
static void a_process_in_another_group_ends_too(void **state)
{
    static char *const command[] = {"/usr/bin/perl", "-e",
        "setpgrp(0, getpgrp(getppid)); $| = 1; print qq(ready\n); sleep 1000", NULL};

    alarm(100); // a stop that waits for ever fails the test
    struct subject *s = start(command, 1);
    await_ready(s, 1);
    subject_stop(s, 10 * NS_PER_S);
    assert_int_equal(subject_log(s)->processes[0].status, SIGTERM);
    subject_free(s);
    alarm(0);
}

// A process that has left its group is not killed with the group, and writes until the harness
// closes the output.
static void a_flood_ends_the_run(void **state)
{
    static char *const command[] = {"/bin/sh", "-c", "setsid yes & exec sleep 1000", NULL};
    struct err e;

    alarm(100); // a stop that waits for ever fails the test
    struct subject *s = start(command, 1);
    while (!subject_gave_up(s, &e))
        usleep(1000);
    assert_int_equal(e.kind, ERR_OUTPUT);
    subject_free(s);
    alarm(0);
}

static void the_last_one_ends_the_run(void **state)
{
    static char *const command[] = {"/bin/sh", "-c", "echo ready; exec sleep 1000", NULL};
    pid_t pids[2];
    struct err e;

    alarm(100);
    struct subject *s = start(command, 2);
    await_ready(s, 2);
    for (int i = 0; i < 2; i++) {
        assert_false(subject_gave_up(s, NULL));
        assert_int_equal(subject_signal(s, i, SIGKILL, pids), 1);
        await_end(s, pids[0]);
    }
    while (!subject_gave_up(s, &e))
        usleep(1000);
    assert_int_equal(e.kind, ERR_OUTPUT);
    subject_free(s);
    alarm(0);
}

// --- kept down ----------------------------------------------------------------------------

static struct subject *start_restarted(char *const *command, int instances)
{
    struct subject_config config = {.command = command,
        .env = no_env,
        .key = key,
        .instances = instances,
        .restart = true,
        .token_count = 1};
    struct err e;
    struct subject *s = subject_start(&config, &e);

    assert_non_null(s);
    return s;
}

// Two callers keep the first instance from running. It comes back when the second of them releases
// it. Meanwhile the other instance is started again.
static void an_instance_kept_down_waits(void **state)
{
    static char *const command[] = {"/bin/sh", "-c", "echo ready; exec sleep 1000", NULL};
    uint64_t one, other;
    pid_t pids[2];

    alarm(100);
    struct subject *s = start_restarted(command, 2);
    await_ready(s, 2);
    // The first signal leaves the process alive, so the second one must find it.
    assert_int_equal(subject_hold_down(s, 0, SIGCONT, false, pids, &one), 1);
    assert_int_equal(subject_hold_down(s, 0, SIGKILL, false, pids, &other), 1);
    assert_true(one == 1 && other == 1);
    assert_int_equal(subject_signal(s, 1, SIGKILL, pids), 1);
    await_ready(s, 3);
    subject_release(s, one);
    assert_true(subject_started(s, one)); // true, because the other caller still holds it down
    assert_int_equal(subject_signal(s, 0, 0, pids), 0);
    subject_release(s, other);
    await_ready(s, 4);
    assert_true(subject_started(s, other));
    assert_int_equal(subject_signal(s, -1, 0, pids), 2);
    subject_free(s);
    alarm(0);
}

static void the_last_one_put_down_for_good_ends_the_run(void **state)
{
    static char *const command[] = {"/bin/sh", "-c", "echo ready; exec sleep 1000", NULL};
    uint64_t held;
    pid_t pids[2];

    alarm(100);
    struct subject *s = start_restarted(command, 2);
    await_ready(s, 2);
    assert_int_equal(subject_hold_down(s, 1, SIGKILL, true, pids, &held), 1);
    assert_true(held == 0);
    assert_int_equal(subject_signal(s, 0, SIGKILL, pids), 1);
    await_ready(s, 3);
    assert_false(subject_gave_up(s, NULL));
    assert_int_equal(subject_hold_down(s, -1, SIGKILL, true, pids, &held), 1);
    while (!subject_gave_up(s, NULL))
        usleep(1000);
    subject_free(s);
    alarm(0);
}

static void last_words_are_those_of_the_process(void **state)
{
    static char *const command[] = {
        "/bin/sh", "-c", "printf 'I was\\n%s\\n' $$ >&2; exit 78", NULL};
    char dir[] = "/tmp/mailproof-serve.XXXXXX", log[64], words[64];
    struct err e;

    alarm(100);
    assert_non_null(mkdtemp(dir));
    struct subject_config config = {.command = command,
        .env = no_env,
        .key = key,
        .instances = 1,
        .restart = true,
        .token_count = 1,
        .log_dir = dir};
    struct subject *s = subject_start(&config, &e);
    assert_non_null(s);
    while (!subject_gave_up(s, NULL))
        usleep(1000);
    subject_stop(s, NS_PER_S);
    assert_int_equal(subject_log(s)->process_count, 3);
    for (size_t i = 0; i < 3; i++) {
        const struct process_record *p = &subject_log(s)->processes[i];
        snprintf(words, sizeof words, "I was|%d", (int)p->pid);
        assert_string_equal(p->last_words, words);
    }
    subject_free(s);
    snprintf(log, sizeof log, "%s/collector-0.log", dir);
    assert_int_equal(unlink(log), 0);
    assert_int_equal(rmdir(dir), 0);
    alarm(0);
}

// --- what is not the collector's fault --------------------------------------------

static struct err await_failure(struct subject *s)
{
    struct err e;

    while (!subject_failed(s, &e))
        usleep(1000);
    assert_false(subject_gave_up(s, NULL));
    return e;
}

static void a_command_that_is_no_program_is_a_usage_error(void **state)
{
    static char *const commands[][2] = {{"/no/such", NULL}, {"/dev", NULL}};

    alarm(100);
    for (size_t i = 0; i < 2; i++) {
        struct subject *s = start(commands[i], 2);
        struct err e = await_failure(s);
        assert_int_equal(e.kind, ERR_USAGE);
        assert_non_null(strstr(e.text, commands[i][0]));
        assert_non_null(strstr(e.text, "on the command line or in collector.command"));
        subject_free(s);
    }
    alarm(0);
}

static void a_log_that_cannot_be_written_is_a_failure_of_the_harness(void **state)
{
    static char *const command[] = {"/bin/sleep", "1000", NULL};
    struct subject_config config = {.command = command,
        .env = no_env,
        .key = key,
        .instances = 2,
        .token_count = 1,
        .log_dir = "/no/such/folder"};
    struct err e;

    assert_null(subject_start(&config, &e));
    assert_non_null(strstr(e.text, "collector-0.log"));
    // Only what the subject has opened is closed.
    assert_int_not_equal(fcntl(STDIN_FILENO, F_GETFD), -1);
}

static void too_few_descriptors_are_a_failure_of_the_harness(void **state)
{
    static char *const command[] = {"/bin/sh", "-c", "echo ready", NULL};
    struct subject_config config = {.command = command,
        .env = no_env,
        .key = key,
        .instances = 1,
        .restart = true,
        .token_count = 1};
    struct rlimit usual, few;
    struct err e;

    alarm(100);
    struct subject *s = subject_start(&config, &e);
    assert_non_null(s);
    while (subject_read_bytes(s) == 0)
        usleep(1000);
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &usual), 0);
    few = (struct rlimit){.rlim_cur = 3, .rlim_max = usual.rlim_max};
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
    e = await_failure(s);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &usual), 0);
    assert_int_equal(e.kind, ERR_SYSTEM);
    subject_free(s);
    alarm(0);
}

// --- a new log -----------------------------------------------------------------------------

// What one process has left is not known yet when the next one ends. This goes on for 7.2 s, longer
// than subject_begin_log waits.
static void *end_one_after_another(void *subject)
{
    pid_t pids[1];

    for (int i = 0; i < 18; i++) {
        subject_signal(subject, 0, SIGTERM, pids);
        usleep(400 * 1000);
    }
    return NULL;
}

static void a_new_log_says_for_what_it_waited(void **state)
{
    static char *const command[] = {"/bin/sh", "-c",
        "setsid sh -c 'echo ready; exec sleep 1000 >/dev/null' & exec sleep 1000", NULL};
    const struct plan plan = {0};
    const struct subject_new_log to = {.plan = &plan, .old_dir = "/nowhere", .log_dir = "/nowhere"};
    struct subject_log log;
    struct subject_cost cost;
    pthread_t thread;
    pid_t pids[1];
    struct err e;

    alarm(100);
    struct subject *s = start_restarted(command, 1);
    await_ready(s, 1);
    assert_int_equal(subject_signal(s, 0, SIGTERM, pids), 1);
    await_end(s, pids[0]);
    assert_int_equal(pthread_create(&thread, NULL, end_one_after_another, s), 0);
    assert_false(subject_begin_log(s, &to, &log, &cost, &e));
    pthread_join(thread, NULL);
    assert_string_equal(e.text,
        "the collector is not at rest: it is not known yet what its ended processes have left "
        "running");
    subject_free(s);
    alarm(0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_starting_process_ends_too),
        cmocka_unit_test(a_starting_process_is_not_killed),
        cmocka_unit_test(a_script_s_command_is_killed_with_it),
        cmocka_unit_test(a_script_s_command_is_paused_with_it),
        cmocka_unit_test(a_script_s_command_may_finish),
        cmocka_unit_test(a_script_s_children_are_killed),
        cmocka_unit_test(a_process_in_another_group_ends_too),
        cmocka_unit_test(a_flood_ends_the_run),
        cmocka_unit_test(the_last_one_ends_the_run),
        cmocka_unit_test(a_new_log_says_for_what_it_waited),
        cmocka_unit_test(an_instance_kept_down_waits),
        cmocka_unit_test(the_last_one_put_down_for_good_ends_the_run),
        cmocka_unit_test(last_words_are_those_of_the_process),
        cmocka_unit_test(a_command_that_is_no_program_is_a_usage_error),
        cmocka_unit_test(a_log_that_cannot_be_written_is_a_failure_of_the_harness),
        cmocka_unit_test(too_few_descriptors_are_a_failure_of_the_harness),
    };

    process_adopt_orphans();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
