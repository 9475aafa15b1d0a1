// Answers are found again after the file is opened anew. A line that is not an answer is refused,
// and a last line that was cut is removed.
#include "base/unit.h"
#include "field/answer_file.h"

#include <math.h>

static void make_path(char path[64])
{
    snprintf(path, 64, "/tmp/answers_test.XXXXXX");
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    close(fd);
}

static void finds_an_answer_again(void **state)
{
    struct answer kept = {.p50 = 4.5,
                      .lost = 2,
                      .left = NAN,
                      .judged = 1,
                      .program = "0.1.0 (abc)",
                      .day = "2026-11-28"},
                  found;
    struct answer_file a;
    char path[64];
    struct err e;

    make_path(path);
    assert_true(answer_file_open(&a, path, &e));
    assert_false(answer_file_find(&a, "pgq 3.5: run", &found));
    assert_true(answer_file_store(&a, "pgq 3.5: run", &kept, &e));
    assert_true(answer_file_store(&a, "other", &(struct answer){.p50 = 1}, &e));
    answer_file_close(&a);
    assert_true(answer_file_open(&a, path, &e));
    assert_true(answer_file_find(&a, "pgq 3.5: run", &found));
    assert_true(found.p50 == 4.5 && found.lost == 2 && isnan(found.left) && found.judged == 1);
    assert_string_equal(found.program, "0.1.0 (abc)");
    assert_string_equal(found.day, "2026-11-28");
    assert_true(answer_file_find(&a, "other", &found));
    assert_string_equal(found.day, "");
    assert_false(answer_file_find(&a, "another", &found));
    answer_file_close(&a);
    unlink(path);
}

static void write_answers(char *path, const char *text)
{
    make_path(path);
    FILE *file = fopen(path, "w");
    fputs(text, file);
    fclose(file);
}

static void refuses_a_line_that_is_no_answer(void **state)
{
    struct answer_file a;
    char path[64];
    struct err e;

    write_answers(path, "{\"run\": \"x\"}\n{\"p50\": 1}\n");
    assert_false(answer_file_open(&a, path, &e));
    answer_file_close(&a);
    unlink(path);
    assert_true(answer_file_open(&a, path, &e)); // there is no file yet
    answer_file_close(&a);
}

// When writing a line was interrupted, only that answer is missing.
static void removes_a_last_line_that_was_cut(void **state)
{
    struct answer found;
    struct answer_file a;
    char path[64];
    struct err e;

    write_answers(path, "{\"run\": \"x\", \"lost\": 1}\n{\"run\": \"y\", \"lo");
    assert_true(answer_file_open(&a, path, &e));
    assert_true(answer_file_find(&a, "x", &found));
    assert_false(answer_file_find(&a, "y", &found));
    assert_true(answer_file_store(&a, "z", &found, &e));
    answer_file_close(&a);
    assert_true(answer_file_open(&a, path, &e));
    assert_true(answer_file_find(&a, "z", &found));
    answer_file_close(&a);
    unlink(path);
}

// The path of a user's own subject is a part of the key.
static void a_name_that_is_not_utf8_is_the_reason(void **state)
{
    const struct answer answer = {0};
    struct answer_file a;
    struct err e;

    assert_true(answer_file_open(&a, NULL, &e));
    assert_false(answer_file_store(&a, "./queue-\xff: run", &answer, &e));
    assert_non_null(strstr(e.text, "UTF-8"));
    answer_file_close(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(finds_an_answer_again),
        cmocka_unit_test(refuses_a_line_that_is_no_answer),
        cmocka_unit_test(removes_a_last_line_that_was_cut),
        cmocka_unit_test(a_name_that_is_not_utf8_is_the_reason),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
