#include "base/unit.h"
#include "mailroom-sender/mail.h"

#define S43 "0123456789012345678901234567890123456789-_A"
#define SECRET S43 S43

static const struct {
    const char *name, *line, *why; // why NULL: it can be sent
} cases[] = {
    {"activation", "1,a@b,login," SECRET ",12345", NULL},
    {"activation without code", "1,a@b,login," SECRET ",", NULL},
    {"recovery", "2,a@b,login," SECRET ",12345", NULL},
    {"recovery without code", "2,a@b,login," SECRET ",", "a recovery has no code"},
    {"unknown action", "3,a@b,login," SECRET ",", "the action is neither 1 nor 2"},
    {"no at", "1,ab,login," SECRET ",", "this is not a mail address"},
    {"nothing before the at", "1,@b,login," SECRET ",", "this is not a mail address"},
    {"command in the address", "1,a@b> SIZE=1,l," SECRET ",", "this is not a mail address"},
    {"line end in the address", "1,a@b\rDATA,l," SECRET ",", "this is not a mail address"},
    {"header in the login", "1,a@b,l\nBcc: x," SECRET ",",
        "the login is empty or holds control characters"},
    {"short secret", "1,a@b,l," S43 ",", "the secret is not 86 characters of base64url"},
    {"odd secret", "1,a@b,l,+" S43 "12345678901234567890123456789012345678901-,",
        "the secret is not 86 characters of base64url"},
    {"long code", "1,a@b,l," SECRET ",123456", "the code is not five digits"},
};

static void judges_each_mail(void **state)
{
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct record r;
        const char *at = cases[i].line;
        size_t len = strlen(at);
        assert_int_equal(record_count(at, len), 1);
        const char *why = record_next(&r, &at, cases[i].line + len);
        if (!why != !cases[i].why || (why && strcmp(why, cases[i].why) != 0))
            fail_msg("%s: %s", cases[i].name, why ? why : "accepted");
        assert_ptr_equal(at, cases[i].line + len);
    }
}

static void takes_one_after_the_other(void **state)
{
    static const char line[] = "1,a@b,one," SECRET ",,2,c@d,two," SECRET ",54321";
    const char *at = line, *end = line + sizeof line - 1;
    struct record r;

    assert_int_equal(record_count(line, sizeof line - 1), 2);
    assert_null(record_next(&r, &at, end));
    assert_memory_equal(r.login.data, "one", 3);
    assert_int_equal(r.code.len, 0);
    assert_null(record_next(&r, &at, end));
    assert_int_equal(r.action, TOKEN_PASSWORD_RECOVERY);
    assert_memory_equal(r.code.data, "54321", 5);
}

static void counts_whole_mails_only(void **state)
{
    assert_int_equal(record_count("", 0), 0);
    assert_int_equal(record_count("1,a@b,l,s", 9), 0);
    assert_int_equal(record_count(",,,,,", 5), 0);
    assert_int_equal(record_count(",,,,", 4), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(judges_each_mail),
        cmocka_unit_test(takes_one_after_the_other),
        cmocka_unit_test(counts_whole_mails_only),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
