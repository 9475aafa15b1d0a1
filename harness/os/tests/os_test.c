#include <fcntl.h>
#include <signal.h>
#include <sys/ipc.h>
#include <sys/shm.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>

#include "base/unit.h"
#include "os/block_group.h"
#include "os/interrupt.h"
#include "os/own_clock.h"
#include "os/paths.h"
#include "os/postmasters.h"
#include "os/process.h"
#include "os/workdir.h"

static const uid_t ourselves = (uid_t)-1;

static void a_run_collects_output(void **state)
{
    const char *const argv[] = {"printf", "one\\ntwo\\n\\n", NULL};
    char text[64];
    struct err e;

    assert_true(process_run(argv, ourselves, 0, text, sizeof text, &e));
    assert_string_equal(text, "one\ntwo");
}

static void output_that_does_not_fit_is_cut(void **state)
{
    const char *const argv[] = {"seq", "100000", NULL};
    char text[8];
    struct err e;

    assert_true(process_run(argv, ourselves, 0, text, sizeof text, &e));
    assert_string_equal(text, "1\n2\n3\n4");
}

static void a_failing_run_says_why(void **state)
{
    const char *const argv[] = {"ls", "/no/such/folder", NULL};
    char text[200];
    struct err e;

    assert_false(process_run(argv, ourselves, 0, text, sizeof text, &e));
    assert_int_equal(e.kind, ERR_SYSTEM);
    assert_non_null(strstr(e.text, "/no/such/folder"));
}

// Where CHLD is ignored, the kernel reaps the children. Their exit codes are then unknown.
static void an_unknown_end_is_no_success(void **state)
{
    const char *const argv[] = {"true", NULL};
    char text[8];
    struct err e;
    int status = 0;

    signal(SIGCHLD, SIG_IGN);
    bool ok = process_run(argv, ourselves, 0, text, sizeof text, &e);
    signal(SIGCHLD, SIG_DFL);
    assert_false(ok);
    assert_true(process_wait(getpid(), CLOCK_NEVER, &status));
    assert_int_equal(status, PROCESS_STATUS_UNKNOWN);
    assert_false(WIFEXITED(status) || WIFSIGNALED(status));
}

static void a_missing_program_is_an_error_of_start(void **state)
{
    const char *const argv[] = {"/no/such/program", NULL};
    struct process_spec spec = PROCESS_SPEC_INIT;
    struct err e;

    spec.argv = argv;
    assert_int_equal(process_start(&spec, &e), -1);
    assert_non_null(strstr(e.text, "No such file or directory"));
}

static void a_stubborn_process_is_killed(void **state)
{
    const char *const argv[] = {
        "sh", "-c", "trap '' TERM; echo ready; while :; do sleep 9; done", NULL};
    struct process_spec spec = PROCESS_SPEC_INIT;
    struct err e;
    int out[2];
    char c;

    assert_int_equal(pipe(out), 0);
    spec.argv = argv;
    spec.out = out[1];
    pid_t pid = process_start(&spec, &e);
    assert_true(pid > 0);
    assert_int_equal(read(out[0], &c, 1), 1);
    assert_true(process_alive(pid));
    assert_int_equal(getpgid(pid), pid);
    process_end(pid, SIGTERM, 10 * NS_PER_MS);
    assert_false(process_alive(pid));
    close(out[0]);
    close(out[1]);
}

static void children_are_listed(void **state)
{
    const char *const argv[] = {"sleep", "60", NULL};
    struct process_spec spec = PROCESS_SPEC_INIT;
    struct err e;
    pid_t pids[64];
    bool found = false;

    spec.argv = argv;
    pid_t pid = process_start(&spec, &e);
    size_t count = process_children(getpid(), pids, 64);
    for (size_t i = 0; i < count; i++)
        found = found || pids[i] == pid;
    process_end(pid, SIGKILL, CLOCK_NEVER / 2);
    assert_true(found);
}

static void a_pid_used_again_is_another_process(void **state)
{
    const char *const argv[] = {"sleep", "60", NULL};
    struct process_spec spec = PROCESS_SPEC_INIT;
    struct err e;

    spec.argv = argv;
    pid_t pid = process_start(&spec, &e);
    uint64_t started = process_started(pid);
    assert_true(started >= process_started(getpid()));
    assert_true(process_is(pid, started));
    assert_false(process_is(pid, started - 1));
    process_end(pid, SIGKILL, CLOCK_NEVER / 2);
    assert_int_equal(process_started(pid), 0);
    assert_false(process_is(pid, started));
}

// Returns the signal that interrupts a process which began with HUP handled in this way.
static int interrupted_by(void (*hup)(int))
{
    int status;
    pid_t pid = fork();

    if (pid == 0) {
        signal(SIGHUP, hup);
        interrupt_install();
        raise(SIGHUP);
        _exit(interrupt_signal());
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    return WEXITSTATUS(status);
}

static void a_run_under_nohup_outlives_its_terminal(void **state)
{
    assert_int_equal(interrupted_by(SIG_DFL), SIGHUP);
    assert_int_equal(interrupted_by(SIG_IGN), 0);
}

// --- with a folder of our own -----------------------------------------------------

static char place[] = "/var/tmp/mp-os-test.XXXXXX";

static int make_place(void **state)
{
    return mkdtemp(place) && setenv("MAILPROOF_TMPDIR", place, 1) == 0 ? 0 : -1;
}

static int remove_place(void **state)
{
    return workdir_remove_tree(place) ? 0 : -1;
}

// The program's name looks like the fields that follow a name in /proc/PID/stat.
static void a_stopped_process_is_seen(void **state)
{
    char name[PATH_MAX];
    const char *const argv[] = {name, "60", NULL};
    struct process_spec spec = PROCESS_SPEC_INIT;
    struct process_stat stat;
    struct err e;

    assert_true(path_join(name, place, "sl) R 1 (1", &e));
    assert_int_equal(symlink("/bin/sleep", name), 0);
    spec.argv = argv;
    pid_t pid = process_start(&spec, &e);
    assert_true(pid > 0);
    kill(pid, SIGSTOP);
    bool stopped = process_wait_stopped(pid, clock_now_ns() + 60 * NS_PER_S);
    bool seen = process_stat(pid, &stat);
    process_end(pid, SIGKILL, CLOCK_NEVER / 2);
    assert_true(stopped && seen);
    assert_int_equal(stat.state, 'T');
    assert_int_equal(stat.parent, getpid());
    assert_false(process_stat(pid, &stat));
    assert_true(process_stat(getpid(), &stat));
    assert_int_equal(stat.state, 'R');
    assert_in_range(stat.rss_kb, 100, 10000000);
}

static void a_folder_is_made_apart(void **state)
{
    char above[PATH_MAX], path[PATH_MAX], missing[PATH_MAX];
    struct stat st;
    struct err e;

    assert_true(path_join(above, place, "above", &e) && path_join(path, above, "apart", &e));
    assert_int_equal(mkdir(above, 0700), 0);
    assert_true(block_group_mkdir(path, geteuid(), getegid(), &e));
    assert_int_equal(stat(path, &st), 0);
    assert_true(S_ISDIR(st.st_mode) && (st.st_mode & 0777) == 0700);
    assert_int_equal(st.st_uid, geteuid());
    assert_int_equal(rmdir(path), 0);

    // A file that exists is not replaced.
    int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    assert_true(fd >= 0 && close(fd) == 0);
    assert_false(block_group_mkdir(path, geteuid(), getegid(), &e));
    assert_non_null(strstr(e.text, path));
    assert_int_equal(unlink(path), 0);
    assert_true(path_join(missing, path, "below", &e));
    assert_false(block_group_mkdir(missing, geteuid(), getegid(), &e));
    // The folder above holds no other folder, or rmdir would fail.
    assert_int_equal(rmdir(above), 0);
}

static void a_locked_folder_stays_and_a_left_one_goes(void **state)
{
    struct workdir alive = WORKDIR_INIT, left = WORKDIR_INIT, next = WORKDIR_INIT;
    char file[PATH_MAX];
    struct err e;

    assert_true(workdir_make(&alive, geteuid(), &e));
    assert_true(workdir_make(&left, geteuid(), &e));
    assert_true(path_join(file, left.path, "something", &e));
    close(open(file, O_WRONLY | O_CREAT, 0600));
    // This releases the lock, as the kernel does when mailproof is killed.
    close(left.lock);
    assert_true(workdir_make(&next, geteuid(), &e));
    assert_true(path_exists(alive.path));
    assert_false(path_exists(left.path));
    workdir_remove(&alive);
    workdir_remove(&next);
    assert_false(path_exists(alive.path));
    workdir_remove(&alive);
}

// The server's user may not touch what root works with, or it could lead root's writes elsewhere.
static void the_server_s_user_owns_only_its_part(void **state)
{
    const uid_t user = geteuid() == 0 ? 65534 : geteuid();
    struct workdir w = WORKDIR_INIT;
    struct stat st;
    struct err e;

    assert_true(workdir_make(&w, user, &e));
    assert_int_equal(stat(w.path, &st), 0);
    assert_int_equal(st.st_uid, geteuid());
    assert_int_equal(st.st_mode & 0777, user == geteuid() ? 0700 : 0711);
    assert_int_equal(stat(w.server, &st), 0);
    assert_int_equal(st.st_uid, geteuid());
    assert_true(workdir_give(&w, user, user, &e));
    assert_int_equal(stat(w.server, &st), 0);
    assert_int_equal(st.st_uid, user);
    assert_int_equal(st.st_mode & 0777, 0700);
    workdir_remove(&w);
}

// A conninfo would end at the blank, and take a relative path for the name of a machine.
static void a_folder_that_no_conninfo_can_name_is_refused(void **state)
{
    static const char *const paths[] = {"relative", "/tmp/a b", "/tmp/a,b", "/tmp/a'b"};
    struct workdir w = WORKDIR_INIT;
    struct err e;

    for (size_t i = 0; i < sizeof paths / sizeof *paths; i++) {
        assert_int_equal(setenv("MAILPROOF_TMPDIR", paths[i], 1), 0);
        assert_false(workdir_make(&w, geteuid(), &e));
        assert_int_equal(e.kind, ERR_USAGE);
        workdir_remove(&w);
    }
    assert_int_equal(setenv("MAILPROOF_TMPDIR", place, 1), 0);
}

static void a_kept_folder_stays(void **state)
{
    struct workdir kept = WORKDIR_INIT, next = WORKDIR_INIT;
    struct err e;

    assert_true(workdir_make(&kept, geteuid(), &e));
    workdir_keep(&kept);
    assert_true(workdir_make(&next, geteuid(), &e));
    assert_true(path_exists(kept.path));
    workdir_remove(&next);
}

static void removing_does_not_follow_links(void **state)
{
    struct workdir w = WORKDIR_INIT;
    char outside[PATH_MAX], link[PATH_MAX];
    struct err e;

    assert_true(path_join(outside, place, "outside/inner", &e));
    assert_true(path_make(outside, &e));
    assert_true(workdir_make(&w, geteuid(), &e));
    assert_true(path_join(link, w.path, "link", &e));
    assert_int_equal(symlink(outside, link), 0);
    workdir_remove(&w);
    assert_true(path_exists(outside));
}

// Starts a process that has a segment as a postmaster has. Returns its pid, and the segment's id.
static pid_t start_postmaster(int *segment)
{
    static const int magic = 679834894; // PGShmemMagic
    int ready[2];

    assert_int_equal(pipe(ready), 0);
    pid_t pid = fork();
    if (pid == 0) {
        int id = shmget(IPC_PRIVATE, 4096, IPC_CREAT | 0600), *at = shmat(id, NULL, 0);
        at[0] = magic;
        at[1] = (int)getpid();
        while (write(ready[1], &id, sizeof id) > 0)
            pause();
        _exit(1);
    }
    assert_int_equal(read(ready[0], segment, sizeof *segment), sizeof *segment);
    close(ready[0]);
    close(ready[1]);
    return pid;
}

static void note(const char *dir, pid_t pid, uint64_t started)
{
    char path[PATH_MAX];
    struct err e;

    assert_true(path_join(path, dir, "postmasters", &e));
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fprintf(
        file, "%d %llu %lld\n", (int)pid, (unsigned long long)started, (long long)time(NULL) - 10);
    fclose(file);
}

// A killed run left a note. Its postmaster's pid belongs to another server by now.
static void another_server_with_a_noted_pid_lives(void **state)
{
    struct shmid_ds st;
    char dir[PATH_MAX];
    int segment;
    struct err e;
    pid_t pid = start_postmaster(&segment);

    assert_true(path_join(dir, place, "noted", &e));
    assert_true(path_make(dir, &e));
    note(dir, pid, process_started(pid) - 1);
    postmasters_sweep(dir, geteuid());
    assert_int_equal(waitpid(pid, NULL, WNOHANG), 0);
    note(dir, pid, process_started(pid));
    postmasters_sweep(dir, geteuid());
    assert_int_equal(waitpid(pid, NULL, 0), pid);
    assert_int_equal(shmctl(segment, IPC_STAT, &st), -1);
}

// The limit of the text counts the NUL at its end, so the file must be shorter than the limit.
static void a_file_is_read_whole_or_not_at_all(void **state)
{
    char name[] = "/tmp/mailproof-os-test-XXXXXX";
    int fd = mkstemp(name);
    struct buf text;
    struct err e;

    assert_int_equal(write(fd, "12345", 5), 5);
    close(fd);
    buf_init(&text, 6);
    assert_true(path_read(name, &text, ERR_USAGE, &e));
    assert_string_equal(text.data, "12345");
    buf_fini(&text);
    buf_init(&text, 5);
    assert_false(path_read(name, &text, ERR_USAGE, &e));
    assert_int_equal(e.kind, ERR_USAGE);
    assert_non_null(strstr(e.text, "is longer than"));
    buf_fini(&text);
    buf_init(&text, 5);
    unlink(name);
    assert_false(path_read(name, &text, ERR_SYSTEM, &e));
    assert_int_equal(e.kind, ERR_SYSTEM);
    buf_fini(&text);
}

static void long_paths_are_refused(void **state)
{
    char longer[PATH_MAX], out[PATH_MAX];
    struct err e;

    memset(longer, 'a', sizeof longer - 1);
    longer[sizeof longer - 1] = '\0';
    assert_false(path_join(out, longer, "b", &e));
    assert_false(path_make(longer, &e));
}

static void an_empty_path_is_no_folder(void **state)
{
    struct err e;

    assert_false(path_make("", &e));
    assert_int_equal(e.kind, ERR_USAGE);
}

static void a_file_is_no_folder(void **state)
{
    char name[] = "/tmp/mailproof-os-test-XXXXXX", below[PATH_MAX];
    struct err e = {0};
    int fd = mkstemp(name);

    assert_true(fd >= 0);
    close(fd);
    assert_true(path_join(below, name, "below", &e));
    bool made = path_make(name, &e), made_below = path_make(below, &(struct err){0});
    unlink(name);
    assert_false(made);
    assert_false(made_below);
    assert_int_equal(e.kind, ERR_USAGE);
    assert_non_null(strstr(e.text, "Not a directory"));
}

// The server's user can write any pid into the notes of its folder. So root kills only processes of
// that user.
static void noted_processes_of_others_live_on(void **state)
{
    char dir[] = "/tmp/mailproof-notes.XXXXXX";
    struct err e;

    if (geteuid() != 0)
        skip();
    assert_non_null(mkdtemp(dir));
    pid_t ours = fork();
    if (ours == 0) {
        pause();
        _exit(0);
    }
    assert_true(postmasters_note(dir, ours, &e));
    postmasters_sweep(dir, 65534);
    assert_false(process_wait(ours, clock_now_ns() + 50 * NS_PER_MS, NULL));
    // A process of the server's user ends.
    postmasters_sweep(dir, geteuid());
    assert_true(process_wait(ours, clock_now_ns() + 10 * NS_PER_S, NULL));
    assert_true(workdir_remove_tree(dir));
}

// A link in the tree is removed, and what it leads to stays.
static void removing_a_tree_follows_no_link(void **state)
{
    char dir[] = "/tmp/mailproof-tree.XXXXXX", other[] = "/tmp/mailproof-other.XXXXXX";
    char path[PATH_MAX];
    struct stat st;

    assert_non_null(mkdtemp(dir));
    assert_non_null(mkdtemp(other));
    snprintf(path, sizeof path, "%s/precious", other);
    assert_int_equal(mkdir(path, 0700), 0);
    snprintf(path, sizeof path, "%s/a", dir);
    assert_int_equal(mkdir(path, 0700), 0);
    snprintf(path, sizeof path, "%s/a/link", dir);
    assert_int_equal(symlink(other, path), 0);
    assert_true(workdir_remove_tree(dir));
    assert_int_not_equal(stat(dir, &st), 0);
    snprintf(path, sizeof path, "%s/precious", other);
    assert_int_equal(stat(path, &st), 0);
    assert_true(workdir_remove_tree(other));
}

// The "clock" is a library that this process has loaded. A child that nobody has reaped yet has
// nothing loaded any more.
static void a_child_that_has_ended_needs_no_clock(void **state)
{
    const struct own_clock clock = {.library = "/lib/libc.so.6"};
    pid_t pid = fork();

    assert_int_not_equal(pid, -1);
    if (pid == 0)
        _exit(0);
    siginfo_t info;
    assert_int_equal(waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT), 0);
    assert_true(own_clock_is_loaded(&clock, getpid()));
    assert_int_equal(waitpid(pid, NULL, 0), pid);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(noted_processes_of_others_live_on),
        cmocka_unit_test(removing_a_tree_follows_no_link),
        cmocka_unit_test(a_run_collects_output),
        cmocka_unit_test(output_that_does_not_fit_is_cut),
        cmocka_unit_test(a_failing_run_says_why),
        cmocka_unit_test(an_unknown_end_is_no_success),
        cmocka_unit_test(a_missing_program_is_an_error_of_start),
        cmocka_unit_test(a_stubborn_process_is_killed),
        cmocka_unit_test(children_are_listed),
        cmocka_unit_test(a_pid_used_again_is_another_process),
        cmocka_unit_test(a_run_under_nohup_outlives_its_terminal),
        cmocka_unit_test(a_stopped_process_is_seen),
        cmocka_unit_test(a_child_that_has_ended_needs_no_clock),
        cmocka_unit_test(a_folder_is_made_apart),
        cmocka_unit_test(a_locked_folder_stays_and_a_left_one_goes),
        cmocka_unit_test(a_kept_folder_stays),
        cmocka_unit_test(the_server_s_user_owns_only_its_part),
        cmocka_unit_test(a_folder_that_no_conninfo_can_name_is_refused),
        cmocka_unit_test(removing_does_not_follow_links),
        cmocka_unit_test(another_server_with_a_noted_pid_lives),
        cmocka_unit_test(a_file_is_read_whole_or_not_at_all),
        cmocka_unit_test(a_file_is_no_folder),
        cmocka_unit_test(an_empty_path_is_no_folder),
        cmocka_unit_test(long_paths_are_refused),
    };

    return cmocka_run_group_tests(tests, make_place, remove_place);
}
