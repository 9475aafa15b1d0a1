#include "sender/record.h"

#include <string.h>

size_t record_count(const char *line, size_t len)
{
    size_t fields = 1;

    for (size_t i = 0; i < len; i++)
        fields += line[i] == ',';
    return len == 0 || fields % RECORD_FIELDS != 0 ? 0 : fields / RECORD_FIELDS;
}

static struct field take_sent(const char **at, const char *end)
{
    const char *from = *at;
    const char *comma = memchr(from, ',', (size_t)(end - from));
    const char *stop = comma ? comma : end;

    *at = comma ? comma + 1 : end;
    return (struct field){.data = from, .len = (size_t)(stop - from)};
}

static bool is_printable(struct field f)
{
    for (size_t i = 0; i < f.len; i++)
        if ((unsigned char)f.data[i] < 0x20 || f.data[i] == 0x7f)
            return false;
    return true;
}

// True for an address that cannot forge an SMTP command: libcurl puts it between angle brackets, so
// it may hold neither these nor a space.
static bool is_address(struct field f)
{
    const char *at = f.len > 0 ? memrchr(f.data, '@', f.len) : NULL;

    for (size_t i = 0; i < f.len; i++)
        if (f.data[i] == '<' || f.data[i] == '>' || f.data[i] == ' ')
            return false;
    return at && at > f.data && at + 1 < f.data + f.len;
}

static bool is_made_of(struct field f, const char *allowed)
{
    for (size_t i = 0; i < f.len; i++)
        if (f.data[i] == '\0' || !strchr(allowed, f.data[i]))
            return false;
    return true;
}

static const char *judge(const struct record *r, struct field action)
{
    if (action.len != 1 || (action.data[0] != '1' && action.data[0] != '2'))
        return "the action is neither 1 nor 2";
    if (!is_printable(r->email) || !is_address(r->email))
        return "this is not a mail address";
    if (!is_printable(r->login) || r->login.len == 0)
        return "the login is empty or holds control characters";
    if (r->secret.len != SIGN_TEXT_LEN ||
        !is_made_of(r->secret, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"))
        return "the secret is not 86 characters of base64url";
    if ((r->code.len != SIGN_CODE_LEN && r->code.len != 0) || !is_made_of(r->code, "0123456789"))
        return "the code is not five digits";
    if (r->action == TOKEN_PASSWORD_RECOVERY && r->code.len == 0)
        return "a recovery has no code";
    return NULL;
}

const char *record_next(struct record *r, const char **at, const char *end)
{
    struct field action = take_sent(at, end);

    r->action =
        action.len == 1 && action.data[0] == '2' ? TOKEN_PASSWORD_RECOVERY : TOKEN_ACTIVATION;
    r->email = take_sent(at, end);
    r->login = take_sent(at, end);
    r->secret = take_sent(at, end);
    r->code = take_sent(at, end);
    return judge(r, action);
}
