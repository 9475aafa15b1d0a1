#include "base/unit.h"
#include "wire/sign.h"

// Secret 20 21 … 3f, key 00 01 … 1f; the signatures were made with
// printf … | openssl dgst -sha256 -mac HMAC -macopt hexkey:000102…1f
#define SECRET_TEXT "ICEiIyQlJicoKSorLC0uLzAxMjM0NTY3ODk6Ozw9Pj8"

static void vectors(void **state)
{
    static const struct {
        enum token_action action;
        const char *code;
        const char *text;
    } table[] = {
        {TOKEN_ACTIVATION, NULL, SECRET_TEXT "Yy3ZHbMkQ2XWGvJ8E_SkwT_9TE3jLsNfIndZoIyAPTQ"},
        {TOKEN_PASSWORD_RECOVERY, "01234",
            SECRET_TEXT "5RRhKw0dswrVNjdkRZIqDF0dBdemRg1tdTb-qec8Aww"},
        // The code of an activation token is printed but not signed.
        {TOKEN_ACTIVATION, "01234", SECRET_TEXT "Yy3ZHbMkQ2XWGvJ8E_SkwT_9TE3jLsNfIndZoIyAPTQ"},
    };
    uint8_t key[SIGN_KEY_LEN];
    uint8_t secret[SIGN_SECRET_LEN];
    struct sign s;
    struct err e;

    for (uint8_t i = 0; i < 32; i++) {
        key[i] = i;
        secret[i] = (uint8_t)(32 + i);
    }
    assert_true(sign_init(&s, key, &e));
    // Goes through the table twice, because the context is used again and again.
    for (size_t i = 0; i < 2 * sizeof table / sizeof table[0]; i++) {
        size_t t = i % (sizeof table / sizeof table[0]);
        char out[SIGN_TEXT_LEN + 1];
        memset(out, '!', sizeof out);
        assert_true(sign_token(&s, table[t].action, secret, table[t].code, out, &e));
        assert_int_equal(out[SIGN_TEXT_LEN], '!');
        out[SIGN_TEXT_LEN] = '\0';
        assert_string_equal(out, table[t].text);
    }
    sign_fini(&s);
    sign_fini(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(vectors)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
