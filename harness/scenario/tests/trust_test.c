// A scenario of somebody else runs nothing of theirs: each key that could is refused at its place,
// and the same key from an option is not.
#include "scenario/tests/test_folder.h"

#include <glob.h>
#include <sys/stat.h>

#include "scenario/mark.h"
#include "scenario/scenario.h"

static const struct overrides untrusted = {.trust = TRUST_PLAIN};
static const struct overrides own = {.trust = TRUST_OWN};

static void refuses(
    const char *file, const struct overrides *sets, const char *place, const char *what)
{
    struct scenario s;
    struct err e = {0};

    assert_false(scenario_load(&s, file, sets, &e));
    if (strncmp(e.text, place, strlen(place)) != 0 || !strstr(e.text, what))
        fail_msg("'%s' should begin with '%s' and say '%s'", e.text, place, what);
}

static void accepts(const char *file, const struct overrides *sets)
{
    struct scenario s;
    struct err e = {0};

    if (!scenario_load(&s, file, sets, &e))
        fail_msg("%s", e.text);
    scenario_fini(&s);
}

static void write_with(const char *file, const char *rest)
{
    char text[1000];
    int len = snprintf(text, sizeof text, HEAD LOAD "%s", rest);

    write_file(file, text, (size_t)len);
}

static void what_runs_something_is_refused(void **state)
{
    static const struct {
        const char *rest, *place, *what;
    } cases[] = {
        {"collector: {command: [id, -u]}\n", "x.yaml:6:22: collector.command: ", "runs 'id -u'"},
        {"collector: {subject: ./theirs}\n", "x.yaml:6:22: collector.subject: ", "'./theirs'"},
        {"collector: {subject: ..}\n", "x.yaml:6:22: collector.subject: ", "'..'"},
        {"collector:\n  env: {LD_PRELOAD: /tmp/x.so}\n",
            "x.yaml:7:21: collector.env.LD_PRELOAD: ", "'/tmp/x.so'"},
        {"collector: {env: {PATH: /tmp}}\n", "x.yaml:6:25: collector.env.PATH: ", "'/tmp'"},
        {"collector: {env: {MAILROOM_METRICS: '0.0.0.0:1'}}\n", "x.yaml:6:37: ", "'0.0.0.0:1'"},
        {"postgres: {settings: {archive_command: 'touch /x'}}\n",
            "x.yaml:6:40: postgres.settings.archive_command: ", "'touch /x'"},
        {"postgres: {settings: {listen_addresses: '*'}}\n", "x.yaml:6:41: ", "'*'"},
        {"postgres: {settings: {Archive_Command: id}}\n", "x.yaml:6:40: ", "'id'"},
        {"postgres: {settings: {work_mem: \"1MB'\"}}\n", "x.yaml:6:33: ", "'1MB''"},
        {"postgres: {image: evil}\n", "x.yaml:6:19: postgres.image: ", "'evil'"},
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        write_with(FILE_NAME, cases[i].rest);
        refuses(FILE_NAME, &untrusted, cases[i].place, cases[i].what);
        refuses(FILE_NAME, &untrusted, cases[i].place, "--untrusted refuses");
        accepts(FILE_NAME, &own);
        write_with("scenario.yaml", cases[i].rest);
        refuses("scenario.yaml", &own, "scenario.yaml:", cases[i].what);
        refuses("scenario.yaml", &own, "scenario.yaml:", "--trust");
        accepts("scenario.yaml", &(struct overrides){.trust = TRUST_ALL});
    }
}

static void only_files_beside_it_are_read(void **state)
{
    static const char *const files[] = {"/etc/passwd", "../secret", "linked"};
    char text[300];

    assert_int_equal(symlink("/etc/passwd", "linked"), 0);
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        int len = snprintf(text, sizeof text,
            HEAD "load: [{for: 1s, rate: 1/s, arrivals: trace, file: %s}]\n", files[i]);
        write_file(FILE_NAME, text, (size_t)len);
        refuses(FILE_NAME, &untrusted, "x.yaml:3:", files[i]);
        refuses(FILE_NAME, &(struct overrides){.trust = TRUST_BESIDE}, "x.yaml:3:", "own folder");
    }
    unlink("linked");
}

static void plain_scenarios_are_accepted(void **state)
{
    write_with(FILE_NAME, "collector: {env: {MAILROOM_GRACE: 100}, dequeue: leased}\n"
                          "postgres: {settings: {synchronous_commit: 'off', work_mem: 1MB}}\n");
    accepts(FILE_NAME, &untrusted);

    glob_t shipped = {0};
    assert_int_equal(glob(SCENARIOS_DIR "/*.yaml", 0, NULL, &shipped), 0);
    for (size_t i = 0; i < shipped.gl_pathc; i++)
        accepts(shipped.gl_pathv[i], &untrusted);
    globfree(&shipped);
}

// A value that an option gives is the user's own, and --collector replaces the file's command.
static void options_are_the_users(void **state)
{
    static const char *const items[] = {"collector.command=[id]", "collector.env.LD_PRELOAD=/x.so",
        "postgres.settings.archive_command=id"};
    static const char *const part[] = {"collector.command.1=-u"};

    write_with(FILE_NAME, "");
    accepts(FILE_NAME, &(struct overrides){.items = items, .count = 3, .trust = TRUST_PLAIN});
    write_with(FILE_NAME, "collector: {command: [id]}\n");
    refuses(FILE_NAME, &(struct overrides){.items = part, .count = 1, .trust = TRUST_PLAIN},
        "x.yaml:6:22: collector.command: ", "id -u");
    accepts(FILE_NAME, &(struct overrides){.collector = "mine", .trust = TRUST_PLAIN});
    write_with(FILE_NAME, "collector: {command: [id], env: {LD_PRELOAD: /x.so}}\n");
    refuses(FILE_NAME, &(struct overrides){.collector = "mine", .trust = TRUST_PLAIN},
        "x.yaml:6:46: ", "/x.so");
}

// Writes a result's scenario.yaml as a run does; change: what somebody changes after it.
static void write_marked(const char *change)
{
    struct buf yaml;

    buf_init(&yaml, 10000);
    buf_append_str(&yaml, HEAD LOAD "collector: {command: [id]}\n");
    mark_append(&yaml);
    buf_append_str(&yaml, change);
    write_file("scenario.yaml", buf_str(&yaml), yaml.len);
    buf_fini(&yaml);
}

static void the_mark_tells_ones_own_results(void **state)
{
    struct stat st;

    write_marked("");
    accepts("scenario.yaml", &own);
    assert_int_equal(stat("state/mailproof/mark-key", &st), 0);
    assert_int_equal(st.st_mode & 07777, 0600);
    write_marked("seed: 2\n");
    refuses("scenario.yaml", &own, "scenario.yaml:6:22: ", "'id'");

    // --untrusted believes nobody.
    write_marked("");
    refuses("scenario.yaml", &untrusted, "scenario.yaml:6:22: ", "'id'");

    // Others who can read the key could make marks, too, so no mark counts.
    assert_int_equal(chmod("state/mailproof/mark-key", 0640), 0);
    refuses("scenario.yaml", &own, "scenario.yaml:6:22: ", "'id'");

    // On another machine there is no key, or another one, so the mark does not count there.
    assert_int_equal(unlink("state/mailproof/mark-key"), 0);
    refuses("scenario.yaml", &own, "scenario.yaml:6:22: ", "'id'");
    struct buf other;
    buf_init(&other, 100);
    mark_append(&other);
    buf_fini(&other);
    refuses("scenario.yaml", &own, "scenario.yaml:6:22: ", "'id'");
}

static int enter(void **state)
{
    char state_home[200];

    if (enter_folder(state) != 0)
        return -1;
    snprintf(state_home, sizeof state_home, "%s/state", folder);
    return setenv("XDG_STATE_HOME", state_home, 1);
}

static int leave(void **state)
{
    unlink("state/mailproof/mark-key");
    rmdir("state/mailproof");
    rmdir("state");
    return leave_folder(state);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_runs_something_is_refused),
        cmocka_unit_test(only_files_beside_it_are_read),
        cmocka_unit_test(plain_scenarios_are_accepted),
        cmocka_unit_test(options_are_the_users),
        cmocka_unit_test(the_mark_tells_ones_own_results),
    };

    return cmocka_run_group_tests(tests, enter, leave);
}
