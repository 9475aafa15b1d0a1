#include "base/unit.h"
#include "wire/line.h"

// An initializer of a struct field.
#define TEXT(s)                                                                                    \
    {                                                                                              \
        .data = (s), .len = sizeof(s) - 1                                                          \
    }

static const uint8_t secret[SIGN_SECRET_LEN + 1] = {1, 2, 3};

static struct token good(void)
{
    return (struct token){
        .id = 7,
        .action = TOKEN_PASSWORD_RECOVERY,
        .email = TEXT("a@example.com"),
        .login = TEXT("anna"),
        .secret = {.data = (const char *)secret, .len = SIGN_SECRET_LEN},
        .code = TEXT("01234"),
    };
}

static void fields_that_break_the_format(void **state)
{
    static const struct {
        struct field field;
        const char *why; // the expected reason, with %s for the field's name
    } table[] = {
        {TEXT("plain"), NULL},
        {TEXT("J\xc3\xb6rg \xc3\x80 \xe2\x82\xac"), NULL},
        {TEXT("\xc2\xa0nbsp"), NULL},
        {TEXT(""), NULL},
        {TEXT("a,b"), "comma in"},
        {TEXT("a\"b"), "quote in"},
        {TEXT("a\nb"), "control character in"},
        {TEXT("a\x7f"), "control character in"},
        {TEXT("a\0b"), "control character in"},
        {TEXT("a\xc2\x80"), "control character in"},
        {TEXT("a\xc2\x9f"), "control character in"},
        {TEXT("cut \xc2"), NULL},
        {{NULL, 0}, "no "},
    };

    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
        for (int which = 0; which < 2; which++) {
            struct token t = good();
            *(which ? &t.login : &t.email) = table[i].field;
            const char *why = line_unsendable(&t);
            if (!table[i].why) {
                assert_null(why);
                continue;
            }
            assert_non_null(why);
            assert_ptr_equal(strstr(why, table[i].why), why);
            assert_non_null(strstr(why, which ? "login" : "email"));
        }
    }
}

static void secrets_and_codes(void **state)
{
    static const struct {
        enum token_action action;
        size_t secret_len;
        struct field code;
        const char *why;
    } table[] = {
        {TOKEN_ACTIVATION, 32, {NULL, 0}, NULL},
        {TOKEN_ACTIVATION, 32, TEXT("00000"), NULL},
        {TOKEN_ACTIVATION, 32, TEXT("#####"), "code is not 5 digits"},
        {TOKEN_ACTIVATION, 32, TEXT(""), "code is not 5 digits"},
        {TOKEN_ACTIVATION, 32, TEXT("1234"), "code is not 5 digits"},
        {TOKEN_ACTIVATION, 31, {NULL, 0}, "secret is not 32 bytes"},
        {TOKEN_ACTIVATION, 33, {NULL, 0}, "secret is not 32 bytes"},
        {TOKEN_PASSWORD_RECOVERY, 32, TEXT("99999"), NULL},
        {TOKEN_PASSWORD_RECOVERY, 32, {NULL, 0}, "recovery without a code"},
        {TOKEN_PASSWORD_RECOVERY, 32, TEXT("1234 "), "code is not 5 digits"},
    };

    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
        struct token t = good();
        t.action = table[i].action;
        t.secret.len = table[i].secret_len;
        t.code = table[i].code;
        const char *why = line_unsendable(&t);
        if (table[i].why)
            assert_string_equal(why, table[i].why);
        else
            assert_null(why);
    }
}

static void tokens_become_one_line(void **state)
{
    uint8_t key[SIGN_KEY_LEN] = {0};
    char text[2][SIGN_TEXT_LEN + 1] = {0};
    char want[512];
    struct token a = good();
    struct token b = good();
    struct sign s;
    struct buf line;
    struct err e;

    b.action = TOKEN_ACTIVATION;
    b.code = (struct field){0};
    assert_true(sign_init(&s, key, &e));
    assert_true(sign_token(&s, a.action, secret, "01234", text[0], &e));
    assert_true(sign_token(&s, b.action, secret, NULL, text[1], &e));
    snprintf(want, sizeof want, "2,a@example.com,anna,%s,01234,1,a@example.com,anna,%s,\n", text[0],
        text[1]);
    buf_init(&line, 4096);
    assert_true(line_add(&line, &s, &a, &e));
    assert_true(line_add(&line, &s, &b, &e));
    assert_true(line_end(&line, &e));
    assert_string_equal(buf_str(&line), want);
    buf_fini(&line);

    buf_init(&line, 100);
    assert_false(line_add(&line, &s, &a, &e));
    assert_false(line_end(&line, &e));
    buf_fini(&line);
    sign_fini(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fields_that_break_the_format),
        cmocka_unit_test(secrets_and_codes),
        cmocka_unit_test(tokens_become_one_line),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
