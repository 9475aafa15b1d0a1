// For tests: a scenario file that the parser must refuse, and the message that it must give.
#pragma once

#include "scenario/scenario.h"
#include "scenario/tests/test_folder.h"

static void expect_error(const char *text, size_t len, const char *set, const char *error)
{
    struct overrides sets = {.items = &set, .count = set ? 1 : 0};
    struct scenario s;
    struct err e = {0};

    write_file(FILE_NAME, text, len);
    assert_false(scenario_load(&s, FILE_NAME, &sets, &e));
    assert_string_equal(e.text, error);
    assert_int_equal(e.kind, ERR_USAGE);
    scenario_fini(&s);
}

struct wrong {
    const char *text;
    const char *error;
};

static void check_all(const struct wrong *cases, size_t count)
{
    for (size_t i = 0; i < count; i++)
        expect_error(cases[i].text, strlen(cases[i].text), NULL, cases[i].error);
}

#define CHECK_ALL(cases) check_all(cases, sizeof(cases) / sizeof *(cases))
