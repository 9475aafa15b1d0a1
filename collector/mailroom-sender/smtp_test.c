#include "base/unit.h"
#include "mailroom-sender/smtp.h"

static void the_code_and_its_command_decide(void **state)
{
    static const struct {
        long code;
        const char *command;
        enum outcome outcome;
    } cases[] = {
        {450, "RCPT", MAIL_TRANSIENT},
        {451, "DATA", MAIL_TRANSIENT},
        {452, "RCPT", MAIL_TRANSIENT},
        {550, "RCPT", MAIL_PERMANENT},
        {554, "DATA", MAIL_PERMANENT},
        {552, "DATA", MAIL_PERMANENT},
        // The rate limit is reached, or the server is closing, so other mails would fail too.
        {454, "RCPT", MAIL_LATER},
        {421, "DATA", MAIL_LATER},
        {454, "MAIL", MAIL_LATER},
        // A server that refuses us says nothing about the mail.
        {535, "AUTH", MAIL_LATER},
        {554, "", MAIL_LATER},
        {550, "MAIL", MAIL_LATER},
        {502, "EHLO", MAIL_LATER},
        // No code: the connection broke.
        {0, "RCPT", MAIL_LATER},
        {0, "", MAIL_LATER},
        {250, "DATA", MAIL_LATER},
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        if (smtp_judge(cases[i].code, cases[i].command) != cases[i].outcome)
            fail_msg("%ld after %s", cases[i].code, cases[i].command);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(the_code_and_its_command_decide)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
