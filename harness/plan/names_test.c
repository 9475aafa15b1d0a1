#include "base/unit.h"
#include "plan/names.h"

static size_t characters(const char *utf8)
{
    size_t count = 0;

    for (; *utf8; utf8++)
        count += ((unsigned char)*utf8 & 0xc0) != 0x80;
    return count;
}

static bool is_bad(const char *name)
{
    bool c1 = strstr(name, "\xc2\x85") != NULL;

    for (; *name && !c1; name++) {
        if ((unsigned char)*name < ' ' || strchr(",\"\x7f", *name))
            return true;
    }
    return c1;
}

// Checks every piece that a reader could take for a name when it splits at commas and newlines.
static bool contains_name_of(const char *text, uint32_t want, uint32_t in)
{
    uint32_t token, segment;

    for (size_t len; *text; text += len + (text[len] != '\0')) {
        len = strcspn(text, ",\n@");
        if (names_token(text, len, &token, &segment) && token == want && segment == in)
            return true;
    }
    return false;
}

static void every_name_tells_its_token(void **state)
{
    static const uint32_t tokens[] = {0, 1, 2, 42, 43, 44, 9999999, 19999999};
    static const uint32_t segments[] = {0, 1, 70, 999999999};
    struct names n;
    uint32_t token, segment;

    for (enum name_shape shape = 0; shape < NAME_SHAPES; shape++) {
        for (size_t i = 0; i < sizeof tokens / sizeof *tokens; i++) {
            const uint32_t in = segments[i % 4];
            names_make(&n, tokens[i], in, shape);
            assert_true(names_token(n.login, strlen(n.login), &token, &segment));
            assert_true(token == tokens[i] && segment == in);
            assert_true(contains_name_of(n.email, tokens[i], in));
            assert_true(characters(n.login) <= 254 && characters(n.email) <= 254);
            assert_int_equal(is_bad(n.login) || is_bad(n.email), shape >= NAME_COMMA);
        }
    }
}

static void the_longest_names_have_254_characters(void **state)
{
    struct names n;

    names_make(&n, 7, 0, NAME_LONG);
    assert_true(strlen(n.login) == 254 && strlen(n.email) == 254);
    names_make(&n, 7, 12, NAME_WIDEST);
    assert_true(characters(n.login) == 254 && characters(n.email) == 254);
    assert_true(strlen(n.login) > 900);
}

// A line that prints such names without a change still has a multiple of five fields.
static void records_keep_the_number_of_fields(void **state)
{
    struct names n;

    for (uint32_t token = 0; token < 3; token++) {
        size_t commas = 4;
        names_make(&n, token, 3, NAME_RECORD);
        for (const char *p = n.login; *p; p++)
            commas += *p == ',';
        for (const char *p = n.email; *p; p++)
            commas += *p == ',';
        assert_true(commas > 4 && (commas + 1) % 5 == 0);
    }
}

static void quotes_for_arrays(void **state)
{
    struct buf out;

    buf_init(&out, 100);
    names_quote(&out, "a\"b\\c,d");
    assert_string_equal(buf_str(&out), "\"a\\\"b\\\\c,d\"");
    buf_fini(&out);
}

static void other_logins_name_no_token(void **state)
{
    static const char *const others[] = {"", "t", "t123456", "t00000042", "x0000042", "t0000042x",
        "t-000042", "~t0000042", "t1234567890", "t0000042 ~", "t0000042.", "t0000042.0",
        "t0000042.07", "t0000042.x", "t0000042.1234567890", ".7"};
    uint32_t token, segment;

    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        assert_false(names_token(others[i], strlen(others[i]), &token, &segment));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_name_tells_its_token),
        cmocka_unit_test(the_longest_names_have_254_characters),
        cmocka_unit_test(records_keep_the_number_of_fields),
        cmocka_unit_test(quotes_for_arrays),
        cmocka_unit_test(other_logins_name_no_token),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
