#include "base/unit.h"
#include "loop/state.h"

static void a_lost_session_leads_to_back_off(void **state)
{
    for (int from = 0; from < STATES; from++)
        assert_true(state_leads((enum state)from, BACK_OFF));
    assert_true(state_leads(STAND_BY, SERVE));
    assert_false(state_leads(SERVE, STAND_BY));
    assert_false(state_leads(BACK_OFF, SERVE));
}

// README_MD is the folder's README. Its table must equal the one that state_markdown prints. When
// the test fails, it prints the table to copy there.
static void readme_shows_the_table(void **state)
{
    char *table = NULL, *text = calloc(1, 1 << 20);
    size_t len;
    FILE *out = open_memstream(&table, &len), *in = fopen(README_MD, "r");

    assert_non_null(out);
    assert_non_null(in);
    assert_non_null(text);
    state_markdown(out);
    fclose(out);
    assert_true(fread(text, 1, (1 << 20) - 1, in) > 0);
    fclose(in);
    if (!strstr(text, table))
        print_error("not in %s:\n%s", README_MD, table);
    assert_non_null(strstr(text, table));
    free(table);
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_lost_session_leads_to_back_off),
        cmocka_unit_test(readme_shows_the_table),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
