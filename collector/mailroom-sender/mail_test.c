#include "base/unit.h"
#include "mailroom-sender/mail.h"

static struct err e;

static struct field field(const char *text)
{
    return (struct field){.data = text, .len = strlen(text)};
}

static struct record a_record(void)
{
    return (struct record){.action = TOKEN_ACTIVATION,
        .email = field("a@b"),
        .login = field("{code}"),
        .secret = field("SECRET"),
        .code = field("12345")};
}

static void write_file(const char *path, const char *text)
{
    FILE *f = fopen(path, "w");

    assert_non_null(f);
    fputs(text, f);
    fclose(f);
}

static void the_built_in_ones_hold_what_a_reader_needs(void **state)
{
    struct template t;
    struct buf body;
    struct record r = a_record();

    for (enum token_action action = TOKEN_ACTIVATION; action <= TOKEN_PASSWORD_RECOVERY; action++) {
        buf_init(&body, 65536);
        assert_true(template_init(&t, action, NULL, &e));
        assert_true(mail_body(&body, &t, &r, "https://x.example", &e));
        const char *text = buf_str(&body);
        assert_non_null(strstr(text, action == TOKEN_ACTIVATION
                                         ? "\r\nhttps://x.example/activate?token=SECRET\r\n"
                                         : "\r\nhttps://x.example/recover?token=SECRET\r\n"));
        assert_int_equal(strstr(text, "12345") != NULL, action == TOKEN_PASSWORD_RECOVERY);
        // A value that looks like a word in braces is not replaced.
        assert_non_null(strstr(text, "Hello {code},"));
        template_fini(&t);
        buf_fini(&body);
    }
}

static void a_file_is_checked_at_the_start(void **state)
{
    static const struct {
        const char *text, *why; // NULL: it is good
    } cases[] = {
        {"Subject: Hi\n\n{login} {email} {secret} {code} {site}\n", NULL},
        {"Hello\n\n{secret}\n", "does not begin with 'Subject: …'"},
        {"Subject: Hi\n{secret}\n", "does not begin with 'Subject: …'"},
        {"Subject: Hi\nBcc: x@y\n\n{secret}\n", "is not plain ASCII"},
        {"Subject: Grüße\n\n{secret}\n", "is not plain ASCII"},
        {"Subject: Hi\n\n{secert}\n", "has '{secert}"},
    };
    char path[] = "/tmp/sender-mail.XXXXXX";
    struct template t;

    close(mkstemp(path));
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        write_file(path, cases[i].text);
        bool ok = template_init(&t, TOKEN_ACTIVATION, path, &e);
        template_fini(&t);
        assert_int_equal(ok, !cases[i].why);
        if (cases[i].why)
            assert_non_null(strstr(e.text, cases[i].why));
    }
    unlink(path);
    assert_false(template_init(&t, TOKEN_ACTIVATION, path, &e));
    template_fini(&t);
    assert_int_equal(e.kind, ERR_USAGE);
}

static void an_id_belongs_to_its_token(void **state)
{
    char one[MAIL_ID_LEN], again[MAIL_ID_LEN], other[MAIL_ID_LEN];
    struct record r = a_record();

    assert_true(mail_id(one, &r, "post@x.example", &e));
    assert_true(mail_id(again, &r, "post@x.example", &e));
    assert_string_equal(one, again);
    assert_string_equal(one + strlen(one) - strlen("@x.example>"), "@x.example>");
    assert_null(strstr(one, "SECRET"));
    r.secret = field("ANOTHER");
    assert_true(mail_id(other, &r, "post@x.example", &e));
    assert_string_not_equal(one, other);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_built_in_ones_hold_what_a_reader_needs),
        cmocka_unit_test(a_file_is_checked_at_the_start),
        cmocka_unit_test(an_id_belongs_to_its_token),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
