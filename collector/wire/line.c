#include "wire/line.h"

// Returns why a field cannot go into a line, as one of the four texts given; NULL: it can.
// Forbidden are the comma and the quote, and what would end a line, or control a reader or a
// terminal: the control characters of ASCII and, in UTF-8, those from U+0080 to U+009F.
static const char *why_forbidden(
    struct field f, const char *comma, const char *quote, const char *control, const char *missing)
{
    if (!f.data)
        return missing;
    for (size_t i = 0; i < f.len; i++) {
        unsigned char c = (unsigned char)f.data[i];
        if (c == ',')
            return comma;
        if (c == '"')
            return quote;
        if (c < 0x20 || c == 0x7f)
            return control;
        if (c == 0xc2 && i + 1 < f.len && ((unsigned char)f.data[i + 1] & 0xe0) == 0x80)
            return control;
    }
    return NULL;
}

static bool five_digits(struct field f)
{
    if (f.len != SIGN_CODE_LEN)
        return false;
    for (size_t i = 0; i < f.len; i++)
        if (f.data[i] < '0' || f.data[i] > '9')
            return false;
    return true;
}

const char *line_unsendable(const struct token *t)
{
    const char *why = why_forbidden(
        t->email, "comma in email", "quote in email", "control character in email", "no email");

    if (!why)
        why = why_forbidden(
            t->login, "comma in login", "quote in login", "control character in login", "no login");
    if (why)
        return why;
    if (t->secret.len != SIGN_SECRET_LEN)
        return "secret is not 32 bytes";
    if (t->action == TOKEN_PASSWORD_RECOVERY && !t->code.data)
        return "recovery without a code";
    if (t->code.data && !five_digits(t->code))
        return "code is not 5 digits";
    return NULL;
}

bool line_add(struct buf *line, struct sign *sign, const struct token *t, struct err *e)
{
    char text[SIGN_TEXT_LEN];

    if (!sign_token(sign, t->action, (const uint8_t *)t->secret.data, t->code.data, text, e))
        return false;
    // Nothing is quoted or escaped, because line_unsendable keeps out every token that would need
    // it.
    if (line->len > 0)
        buf_append_char(line, ',');
    buf_append(line, t->action == TOKEN_ACTIVATION ? "1," : "2,", 2);
    buf_append(line, t->email.data, t->email.len);
    buf_append_char(line, ',');
    buf_append(line, t->login.data, t->login.len);
    buf_append_char(line, ',');
    buf_append(line, text, sizeof text);
    buf_append_char(line, ',');
    buf_append(line, t->code.data, t->code.len);
    // One check at the end is enough, because a buffer that has failed takes nothing more.
    if (line->failed)
        return err_memory(e);
    return true;
}

bool line_end(struct buf *line, struct err *e)
{
    if (!buf_append_char(line, '\n'))
        return err_memory(e);
    return true;
}
