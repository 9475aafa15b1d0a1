#include "base/unit.h"
#include "run/suite_item.h"

#include <math.h>

static void write_and_read(size_t junit_len)
{
    struct suite_item item, back;
    struct err e = {0};

    suite_item_init(&item);
    item.run.scenario = "smoke";
    item.run.state = SUITE_JUDGED;
    item.run.verdict = VERDICT_VIOLATED;
    item.run.lost = 3;
    item.exit_code = 1;
    snprintf(item.why, sizeof item.why, "a name that is not UTF-8: \xff");
    for (size_t i = 0; i < junit_len; i++)
        assert_true(buf_append(&item.junit, "x", 1));
    const char *data = item.junit.data;
    json_t *line = suite_item_write(&item, 7, "results");
    assert_non_null(line);
    assert_ptr_equal(item.junit.data, data);

    suite_item_init(&back);
    assert_true(suite_item_read(&back, line, &e));
    assert_int_equal(back.exit_code, 1);
    assert_int_equal(back.run.verdict, VERDICT_VIOLATED);
    assert_true(back.run.lost == 3 && isnan(back.run.duplicated));
    assert_int_equal(back.junit.len, junit_len);
    assert_true(junit_len == 0 || memcmp(back.junit.data, data, junit_len) == 0);
    suite_item_fini(&back);
    json_decref(line);
    suite_item_fini(&item);
}

// The text may fill its buffer exactly, and then there is no room for a byte behind it.
static void an_item_survives_its_line(void **state)
{
    for (size_t len = 0; len <= 130; len++)
        write_and_read(len);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(an_item_survives_its_line)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
