// Every subject that comes with mailproof has a manifest that can be read. A wrong manifest is
// refused with the place of the mistake.
#include "base/unit.h"
#include "subject/manifest.h"

#include <sys/stat.h>

#include "os/paths.h"
#include "scenario/promises.h"

// The folder of the sources. mailproof in build/bin finds the subjects by itself, but this test
// runs in build/tests and must name their paths.
static const char *source_dir;

static void load(struct manifest *m, const char *name)
{
    char path[PATH_MAX];
    struct err e = {0};

    snprintf(path, sizeof path, "%s/harness/subjects/%s", source_dir, name);
    if (!manifest_load(m, path, &e))
        fail_msg("%s", e.text);
}

static void test_reads(void **state)
{
    struct manifest m;

    load(&m, "textbook");
    assert_string_equal(m.name, "textbook");
    assert_int_equal(m.promises.flags, PROMISE_NO_LOSS | PROMISE_RECONNECT);
    assert_non_null(strstr(m.enqueue, "$1"));
    assert_string_equal(m.why_not_installable, MANIFEST_NONE);
    assert_string_equal(m.consumer[1], "consumer.py");
    manifest_fini(&m);
}

static void test_names_what_is_absent(void **state)
{
    struct err e = {0};
    struct manifest m;

    load(&m, "oban");
    assert_false(manifest_installed(&m, &e));
    assert_int_equal(e.kind, ERR_SKIP);
    assert_non_null(strstr(e.text, "Hex"));
    manifest_fini(&m);
}

static void test_refuses(void **state)
{
    static const struct {
        const char *yaml, *text;
    } cases[] = {
        {"name: other\nsummary: s\nversion: 1\n", "'other' should be the folder's name"},
        {"name: q\nsummary: s\nversion: 1\n", "enqueue and consumer are needed"},
        {"name: q\nsummary: s\nversion: 1\nenqueue: SELECT 1\nconsumer: [x]\n", "$1"},
        {"name: q\nsummary: s\nversion: 1\nenqueue: client\nconsumer: [x]\n", "needs producer"},
        {"name: q\nsummary: s\nversion: 1\npromises: [speed]\n", "speed"},
        {"name: q\nsummary: s\nversion: 1\npromises: {speed: {quote: a, url: b}}\n", "speed"},
        {"name: q\nsummary: s\nversion: 1\npromises: {no_loss: {quote: a}}\n", "'url' is missing"},
        {"name: q\nsummary: s\nversion: 1\npromises: {no_loss: {quote: a, url: nowhere.md}}\n",
            "'nowhere.md' is neither an address nor a file"},
        {"name: q\nsummary: s\nversion: 1\nretry_within: 4h\n", "needs retry_documented"},
        {"name: q\nsummary: s\nversion: 1\nretry_within: 4h\nretry_documented: w\n", "needs taken"},
        {"name: q\nsummary: s\nversion: 1\nconsummer: [x]\n", "consummer"},
    };
    char root[] = "/tmp/mailproof-manifest-XXXXXX", dir[60], path[80];

    assert_non_null(mkdtemp(root));
    snprintf(dir, sizeof dir, "%s/q", root);
    snprintf(path, sizeof path, "%s/subject.yaml", dir);
    assert_int_equal(mkdir(dir, 0700), 0);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct manifest m;
        struct err e = {0};
        FILE *file = fopen(path, "we");
        assert_non_null(file);
        fputs(cases[i].yaml, file);
        fclose(file);
        assert_false(manifest_load(&m, dir, &e));
        assert_int_equal(e.kind, ERR_USAGE);
        if (!strstr(e.text, cases[i].text))
            fail_msg("'%s' lacks '%s'", e.text, cases[i].text);
        manifest_fini(&m);
    }
    unlink(path);
    rmdir(dir);
    rmdir(root);
}

// The caller's environment may hold passwords, so no command of a subject gets it.
static void test_runtime_gets_only_the_subjects_environment(void **state)
{
    char *argv[] = {"sh", "-c", "echo \"have $HOME, not <$CI_TOKEN>\"", NULL}, text[80];
    const struct manifest m = {.dir = "/", .runtime = argv};

    setenv("CI_TOKEN", "secret", 1);
    setenv("HOME", "/tmp", 1);
    manifest_runtime(&m, text, sizeof text);
    assert_string_equal(text, "have /tmp, not <>");
}

// A promise without its evidence may be judged in a run, but not in the table of `field`.
static void test_wants_evidence_of_each_promise(void **state)
{
    struct quoted items[] = {{.flag = PROMISE_NO_LOSS, .quote = "q", .url = "u"}};
    struct manifest m = {.promises = {PROMISE_NO_LOSS, items, 1}};
    struct err e = {0};

    assert_true(manifest_quoted(&m, &e));
    m.promises.flags |= PROMISE_RECONNECT;
    assert_false(manifest_quoted(&m, &e));
    assert_non_null(strstr(e.text, "reconnect has no evidence"));
}

// Checks that a quotation stands in its file, if its url names a file in the subject's folder.
static void check_quote(const struct manifest *m, const struct quoted *q)
{
    char path[PATH_MAX], text[20000];
    struct err e;

    if (strstr(q->url, "://"))
        return;
    assert_true(path_join(path, m->dir, q->url, &e));
    FILE *file = fopen(path, "re");
    assert_non_null(file);
    text[fread(text, 1, sizeof text - 1, file)] = '\0';
    fclose(file);
    if (!strstr(text, q->quote))
        fail_msg("%s does not say: %s", path, q->quote);
}

// Every subject that comes with mailproof may be printed by `field`.
static void test_ours_have_evidence(void **state)
{
    char path[PATH_MAX], **names;
    struct err e = {0};

    if (!manifest_names(&names, &e))
        fail_msg("%s", e.text);
    assert_non_null(names[0]);
    for (char **name = names; *name; name++) {
        struct manifest m;
        snprintf(path, sizeof path, "%s", *name);
        load(&m, path);
        if (!manifest_quoted(&m, &e))
            fail_msg("%s", e.text);
        for (size_t i = 0; i < m.promises.count; i++)
            check_quote(&m, &m.promises.items[i]);
        manifest_fini(&m);
    }
    memory_free_texts(names);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_reads),
        cmocka_unit_test(test_names_what_is_absent),
        cmocka_unit_test(test_refuses),
        cmocka_unit_test(test_runtime_gets_only_the_subjects_environment),
        cmocka_unit_test(test_wants_evidence_of_each_promise),
        cmocka_unit_test(test_ours_have_evidence),
    };
    source_dir = getenv("SOURCE_DIR");
    return source_dir ? cmocka_run_group_tests(tests, NULL, NULL) : 77;
}
