#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>

#include "gone.h"

#include <stdio.h>
#include <string.h>

static void each_has_its_own_grace(void **state)
{
    (void)state;
    struct gone g = {0};
    char text[GONE_TEXT_LEN];

    assert_string_equal(gone_due(&g, 500, 0, text), "{}");
    gone_seen(&g, "{30}", 1000);
    gone_seen(&g, "{20,30}", 1400);
    assert_string_equal(gone_due(&g, 500, 1499, text), "{}");
    assert_string_equal(gone_due(&g, 500, 1500, text), "{30}");
    gone_seen(&g, "{10,20,30}", 1800);
    assert_string_equal(gone_due(&g, 500, 1900, text), "{20,30}");
    assert_string_equal(gone_due(&g, 0, 1800, text), "{10,20,30}");
}

static void who_came_back_begins_again(void **state)
{
    (void)state;
    struct gone g = {0};
    char text[GONE_TEXT_LEN];

    gone_seen(&g, "{7,8}", 0);
    gone_seen(&g, "{8}", 100);
    gone_seen(&g, "{7,8}", 200);
    assert_string_equal(gone_due(&g, 500, 600, text), "{8}");
    gone_seen(&g, "{}", 700);
    assert_string_equal(gone_due(&g, 0, 700, text), "{}");
}

static void the_longest_numbers_have_room(void **state)
{
    (void)state;
    struct gone g = {0};
    char all[2 * GONE_TEXT_LEN], text[GONE_TEXT_LEN];
    size_t n = 0;

    for (int i = 0; i < GONE_MAX; i++)
        n += (size_t)snprintf(all + n, sizeof all - n, "%c9223372036854775807", i > 0 ? ',' : '{');
    snprintf(all + n, sizeof all - n, "}");
    gone_seen(&g, all, 0);
    assert_string_equal(gone_due(&g, 0, 0, text), all);
    assert_int_equal(strlen(text), GONE_TEXT_LEN - 1);
    snprintf(all + n, sizeof all - n, ",1}");
    gone_seen(&g, all, 0);
    assert_int_equal(g.n, GONE_MAX);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_has_its_own_grace),
        cmocka_unit_test(who_came_back_begins_again),
        cmocka_unit_test(the_longest_numbers_have_room),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
