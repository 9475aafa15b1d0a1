#include "base/unit.h"
#include "wire/answer.h"

static void takes_what_a_sender_says(void **state)
{
    static const struct {
        const char *line;
        struct answer answer;
    } cases[] = {
        {"12 sent", {12, 0, ANSWER_SENT, ""}},
        {"12.3 sent", {12, 3, ANSWER_SENT, ""}},
        {"1.1 error transient 452 mailbox full", {1, 1, ANSWER_TRANSIENT, "452 mailbox full"}},
        {"7.1000 error permanent 550 no such user",
            {7, 1000, ANSWER_PERMANENT, "550 no such user"}},
        {"7 error permanent", {7, 0, ANSWER_PERMANENT, ""}},
        {"7 error transient \x1b[31m\xc3\xa9", {7, 0, ANSWER_TRANSIENT, "?[31m??"}},
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const struct answer *want = &cases[i].answer;
        struct answer got;
        const char *why;
        if (!answer_parse(&got, cases[i].line, strlen(cases[i].line), &why))
            fail_msg("%s: %s", cases[i].line, why);
        assert_int_equal(got.line, want->line);
        assert_int_equal(got.place, want->place);
        assert_int_equal(got.kind, want->kind);
        assert_string_equal(got.text, want->text);
    }
}

static void refuses_everything_else(void **state)
{
    static const char *const lines[] = {"", "sent", "0 sent", "-1 sent", "01 sent", "1", "1 ",
        "1 sent ", "1 Sent", "1  sent", "1. sent", "1.0 sent", "1.1.1 sent", "1.1", "1 error",
        "1 error later", "1 error transient452", "99999999999999999999 sent", "1.99999999 sent",
        " 1 sent", "1 sent\r"};

    for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++) {
        struct answer a;
        const char *why = NULL;
        if (answer_parse(&a, lines[i], strlen(lines[i]), &why))
            fail_msg("accepted: '%s'", lines[i]);
        assert_non_null(why);
    }
}

static void cuts_a_long_text(void **state)
{
    char line[1000] = "1 error transient ";
    struct answer a;
    const char *why;

    memset(line + strlen(line), 'x', 900);
    assert_true(answer_parse(&a, line, 900, &why));
    assert_int_equal(strlen(a.text), ANSWER_TEXT_MAX);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(takes_what_a_sender_says),
        cmocka_unit_test(refuses_everything_else),
        cmocka_unit_test(cuts_a_long_text),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
