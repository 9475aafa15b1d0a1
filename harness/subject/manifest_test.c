// Every subject that comes with mailproof has a manifest that can be read. A wrong manifest is
// refused with the place of the mistake.
#include "subject/manifest.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "scenario/promises.h"

// The program finds subjects from build/bin, but this test runs in build/tests and names their
// path.
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
    (void)state;

    load(&m, "textbook");
    assert_string_equal(m.name, "textbook");
    assert_int_equal(m.promises, PROMISE_NO_LOSS | PROMISE_RECONNECT);
    assert_non_null(strstr(m.enqueue, "$1"));
    assert_string_equal(m.absent, MANIFEST_NONE);
    assert_string_equal(m.consumer[1], "consumer.py");
    manifest_fini(&m);
}

static void test_names_what_is_absent(void **state)
{
    struct err e = {0};
    struct manifest m;
    (void)state;

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
        {"name: q\nsummary: s\nversion: 1\nconsummer: [x]\n", "consummer"},
    };
    char root[] = "/tmp/mailproof-manifest-XXXXXX", dir[60], path[80];
    (void)state;

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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_reads),
        cmocka_unit_test(test_names_what_is_absent),
        cmocka_unit_test(test_refuses),
    };
    source_dir = getenv("SOURCE_DIR");
    return source_dir ? cmocka_run_group_tests(tests, NULL, NULL) : 77;
}
