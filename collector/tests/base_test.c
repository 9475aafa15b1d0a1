#include <sys/wait.h>

#include "base/unit.h"

static void err_texts(void **state)
{
    struct err e;

    assert_false(err_set(&e, ERR_USAGE, "%s is odd", "three"));
    assert_int_equal(e.kind, ERR_USAGE);
    assert_string_equal(e.text, "three is odd");
    assert_false(err_prefix(&e, "line %d", 4));
    assert_string_equal(e.text, "line 4: three is odd");
    errno = ENOENT;
    assert_false(err_sys(&e, ERR_SYSTEM, "open %s", "x"));
    assert_int_equal(e.sys_errno, ENOENT);
    assert_string_equal(e.text, "open x: No such file or directory");
    assert_false(err_memory(&e));
    assert_int_equal(e.kind, ERR_SYSTEM);
    assert_int_equal(e.sys_errno, ENOMEM);
    assert_string_equal(e.text, "out of memory");
    assert_false(err_memory_for(&e, "%d lines", 7));
    assert_int_equal(e.kind, ERR_SYSTEM);
    assert_int_equal(e.sys_errno, ENOMEM);
    assert_string_equal(e.text, "out of memory for 7 lines");
    err_clear(&e);
    assert_int_equal(e.kind, ERR_NONE);
}

static void err_long_texts_are_cut(void **state)
{
    struct err e;
    char longer[3000];

    memset(longer, 'a', sizeof longer - 1);
    longer[sizeof longer - 1] = '\0';
    err_set(&e, ERR_INTERNAL, "%s", longer);
    assert_int_equal(strlen(e.text), sizeof e.text - 1);
    err_prefix(&e, "where");
    assert_int_equal(strncmp(e.text, "where: aaa", 10), 0);
    assert_int_equal(strlen(e.text), sizeof e.text - 1);
}

static void poll_timeouts_round_up(void **state)
{
    const struct {
        int64_t now, deadline;
        int want;
    } cases[] = {
        {0, CLOCK_NEVER, -1},
        {5, 5, 0},
        {6, 5, 0},
        {0, 1, 1},
        {0, NS_PER_MS, 1},
        {0, NS_PER_MS + 1, 2},
        {0, CLOCK_NEVER - 1, INT_MAX},
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_int_equal(clock_poll_ms(cases[i].now, cases[i].deadline), cases[i].want);
}

static void buf_grows_and_consumes(void **state)
{
    struct buf b;

    buf_init(&b, 1000);
    for (int i = 0; i < 100; i++)
        assert_true(buf_printf(&b, "%03d,", i));
    assert_int_equal(b.len, 400);
    buf_consume(&b, 4);
    assert_int_equal(strncmp(buf_str(&b), "001,002,", 8), 0);
    buf_consume(&b, b.len);
    assert_int_equal(b.len, 0);
    buf_fini(&b);
    buf_fini(&b);
}

static void buf_stops_at_its_ceiling(void **state)
{
    struct buf b;

    buf_init(&b, 8);
    assert_true(buf_append_str(&b, "1234567"));
    assert_false(buf_append_str(&b, "89"));
    assert_true(b.failed);
    assert_int_equal(b.len, 7);
    // There is room again, but an append after a failed one would leave a gap.
    assert_false(buf_append_char(&b, 'x'));
    assert_false(buf_append(&b, "", 0));
    assert_false(buf_printf(&b, "%s", ""));
    assert_null(buf_reserve(&b, 1));
    assert_int_equal(b.len, 7);
    assert_null(buf_str(&b));
    buf_clear(&b);
    assert_false(b.failed);
    assert_true(buf_append_char(&b, 'x'));
    assert_null(buf_reserve(&b, SIZE_MAX));
    buf_fini(&b);
}

static void arrays_grow_by_their_count(void **state)
{
    int *items = NULL;
    size_t count = 0;

    // Grows by one, by more than twice its size at once, and again after it has shrunk.
    for (; count < 1000; count++) {
        memory_grow(&items, count, 1, sizeof *items);
        items[count] = (int)count;
    }
    memory_grow(&items, count, 5000, sizeof *items);
    items[5999] = 1;
    for (count = 3; count < 6000; count++) {
        memory_grow(&items, count, 1, sizeof *items);
        items[count] = (int)count;
    }
    for (size_t i = 0; i < count; i++)
        assert_int_equal(items[i], i);
    free(items);
}

static void arrays_own_their_texts(void **state)
{
    char **texts = NULL, text[2] = "a";
    size_t count = 0;

    for (; text[0] <= 'z'; text[0]++)
        memory_add_text(&texts, &count, text);
    assert_int_equal(count, 26);
    assert_string_equal(texts[25], "z");
    while (count > 0)
        free(texts[--count]);
    free(texts);
}

static void without_memory_the_program_ends(void **state)
{
    static const char said[] = "collector_base_test: out of memory\n";
    char text[80];
    int pipes[2], status, *items = NULL;

    assert_int_equal(pipe(pipes), 0);
    pid_t child = fork();
    if (child == 0) {
        dup2(pipes[1], STDERR_FILENO);
        memory_grow(&items, 0, SIZE_MAX / 8, sizeof *items);
        _exit(0);
    }
    close(pipes[1]);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 70);
    assert_int_equal(read(pipes[0], text, sizeof text), sizeof said - 1);
    assert_memory_equal(text, said, sizeof said - 1);
    close(pipes[0]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(err_texts),
        cmocka_unit_test(err_long_texts_are_cut),
        cmocka_unit_test(poll_timeouts_round_up),
        cmocka_unit_test(buf_grows_and_consumes),
        cmocka_unit_test(buf_stops_at_its_ceiling),
        cmocka_unit_test(arrays_grow_by_their_count),
        cmocka_unit_test(arrays_own_their_texts),
        cmocka_unit_test(without_memory_the_program_ends),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
