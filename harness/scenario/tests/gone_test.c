#include "base/unit.h"
#include "scenario/gone.h"

// True if a row of the table under "Upgrading" has the old word and, behind it, what to write now.
static bool tells(const char *page, const struct gone *g)
{
    for (const char *row = strstr(page, "### Upgrading"); row && *row; row += *row != 0) {
        size_t len = strcspn(row, "\n");
        if (strncmp(row, "###", 3) == 0 && strncmp(row, "### Upgrading", 13) != 0)
            return false;
        char line[1000];
        snprintf(line, sizeof line, "%.*s", (int)len, row);
        const char *middle = strstr(line, " | ");
        const char *was = strstr(line, g->was);
        if (middle && was && was < middle && strstr(line, g->where) && strstr(middle, g->now))
            return true;
        row += len;
    }
    return false;
}

// The changelog has each row of the table in gone.c.
static void the_changelog_tells_each(void **state)
{
    char *page = calloc(1, 1 << 20);
    FILE *in = fopen(CHANGELOG_MD, "r");

    assert_non_null(page);
    assert_non_null(in);
    assert_true(fread(page, 1, (1 << 20) - 1, in) > 0);
    fclose(in);
    assert_non_null(gone_row(0));
    for (size_t i = 0; gone_row(i); i++) {
        if (!tells(page, gone_row(i)))
            print_error("not under Upgrading: %s, now %s\n", gone_row(i)->was, gone_row(i)->now);
        assert_true(tells(page, gone_row(i)));
    }
    free(page);
}

static void only_what_was_has_a_text(void **state)
{
    char text[GONE_TEXT_MAX];

    assert_string_equal(gone_text("field", "--html", text), "; it is now: field --site DIR");
    assert_string_equal(gone_text("check", "--html", text), "");
    assert_string_equal(gone_text("", "document", text), "");
    for (size_t i = 0; gone_row(i); i++)
        assert_true(strlen(gone_row(i)->now) + strlen("; it is now: ") < GONE_TEXT_MAX);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_changelog_tells_each),
        cmocka_unit_test(only_what_was_has_a_text),
    };

    return cmocka_run_group_tests_name("harness.gone", tests, NULL, NULL);
}
