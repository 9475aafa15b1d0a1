#include <sys/stat.h>

#include "base/unit.h"
#include "postgres/engine.h"

// `echo` stands for the engine. A command with too many arguments is refused. None is left out.
static void too_many_arguments_are_refused(void **state)
{
    char text[100];
    struct err e;

    assert_true(ENGINE("echo", text, &e, "1", "2", "3", "4", "5", "6", "7", "8", "9", "10", "11",
        "12", "13", "14"));
    assert_string_equal(text, "1 2 3 4 5 6 7 8 9 10 11 12 13 14");
    assert_false(ENGINE("echo", text, &e, "1", "2", "3", "4", "5", "6", "7", "8", "9", "10", "11",
        "12", "13", "14", "15"));
    assert_int_equal(e.kind, ERR_INTERNAL);
}

// An engine that notes its arguments and fails, as some do when the container is missing.
static void the_volume_is_removed_without_its_container(void **state)
{
    char dir[] = "/tmp/engine_test.XXXXXX", engine[64], log[64], text[200] = "";

    assert_non_null(mkdtemp(dir));
    snprintf(engine, sizeof engine, "%s/engine", dir);
    snprintf(log, sizeof log, "%s/log", dir);
    FILE *script = fopen(engine, "we");
    assert_non_null(script);
    fprintf(script, "#!/bin/sh\necho \"$*\" >>%s\nexit 1\n", log);
    fclose(script);
    assert_int_equal(chmod(engine, 0700), 0);
    engine_remove(engine, "name");
    FILE *noted = fopen(log, "re");
    assert_non_null(noted);
    text[fread(text, 1, sizeof text - 1, noted)] = '\0';
    fclose(noted);
    assert_string_equal(text, "rm -f -v name\nvolume rm -f name\n");
    unlink(engine);
    unlink(log);
    rmdir(dir);
}

// A chosen engine that does not answer is named, and no other one is tried.
static void a_chosen_engine_must_answer(void **state)
{
    struct err e;

    assert_int_equal(setenv("MAILPROOF_CONTAINER_ENGINE", "false", 1), 0);
    assert_null(engine_find(&e));
    assert_int_equal(e.kind, ERR_SKIP);
    assert_non_null(strstr(e.text, "MAILPROOF_CONTAINER_ENGINE: false"));
    assert_int_equal(setenv("MAILPROOF_CONTAINER_ENGINE", "echo", 1), 0);
    assert_string_equal(engine_find(&e), "echo");
    assert_int_equal(unsetenv("MAILPROOF_CONTAINER_ENGINE"), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(too_many_arguments_are_refused),
        cmocka_unit_test(the_volume_is_removed_without_its_container),
        cmocka_unit_test(a_chosen_engine_must_answer),
    };

    return cmocka_run_group_tests_name("harness.engine", tests, NULL, NULL);
}
