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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(too_many_arguments_are_refused),
    };

    return cmocka_run_group_tests_name("harness.engine", tests, NULL, NULL);
}
