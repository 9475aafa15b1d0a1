#include "plan/names.h"

#define DIGITS_MIN 7
#define DIGITS_MAX 9
#define SEGMENT_DIGITS_MAX 9
#define CHARACTERS_MAX 254 // longest name that the table accounts takes
#define SEGMENT_MARK '.'   // stands before the segment's number
#define TAIL_MARK '~'      // stands before the tail of a name that is not plain
#define DOMAIN "@mailproof.invalid"
#define SIGNED_TEXT_LEN 86 // characters of a secret and its signature on the wire

size_t names_login(char out[NAMES_MAX], uint32_t token)
{
    return (size_t)snprintf(out, NAMES_MAX, NAMES_TOKEN, token);
}

size_t names_email(char out[NAMES_MAX], uint32_t token)
{
    return (size_t)snprintf(out, NAMES_MAX, NAMES_TOKEN DOMAIN, token);
}

// --- names that are not plain ---------------------------------------------------------

static const char emoji[] = "\xf0\x9f\x98\x80"; // U+1F600, four bytes

// Writes a name of CHARACTERS_MAX characters: `start`, copies of the character `filler`, and `end`.
// The start and end are ASCII.
static void fill_name(char *out, const char *start, const char *filler, const char *end)
{
    size_t fillers = CHARACTERS_MAX - strlen(start) - strlen(end), len = strlen(filler);
    char *at = stpcpy(out, start);

    for (size_t i = 0; i < fillers; i++, at += len)
        memcpy(at, filler, len);
    stpcpy(at, end);
}

// Returns the control character in the name of this token. names_make chooses by token % 3 which of
// the two names is bad, so this function chooses by token / 3.
static const char *control_char(uint32_t token)
{
    // The last of these characters is U+0085, which some programs take for a line break.
    static const char *const characters[] = {"\t", "\x01", "\x1b", "\x7f", "\r", "\xc2\x85"};

    return characters[token / 3 % (sizeof characters / sizeof *characters)];
}

// Writes a field that tries to forge a record: it closes its own record with a secret and a code
// of the right form, and opens another record after `between`, a comma or a newline. A record is
// "action,email,login,secret,code"; here 12345 is the code, and 1 the action of the next record.
static void make_record(char *out, const char *start, const char *between, bool is_email)
{
    char secret[SIGNED_TEXT_LEN + 1];

    memset(secret, 'A', SIGNED_TEXT_LEN);
    secret[SIGNED_TEXT_LEN] = '\0';
    if (is_email)
        snprintf(out, NAMES_SHAPED_MAX, "%s" DOMAIN ",%s,%s,12345%s1,%s" DOMAIN, start, start,
            secret, between, start);
    else
        snprintf(out, NAMES_SHAPED_MAX, "%s,%s,12345%s1,%s" DOMAIN ",%s", start, secret, between,
            start, start);
}

// Writes a login of this shape or, with is_email, an address. It begins with `start`.
static void make_name(
    char *out, const char *start, enum name_shape shape, uint32_t token, bool is_email)
{
    const char *end = is_email ? DOMAIN : "";

    switch (shape) {
    case NAME_UTF8:
        // Characters of two, three and four bytes, and a combining mark, which belongs to the
        // character before it.
        snprintf(
            out, NAMES_SHAPED_MAX, "%s\xc3\xbc\xce\xa9\xe6\xbc\xa2%s\xcc\x88%s", start, emoji, end);
        return;
    case NAME_MIXED:
        snprintf(out, NAMES_SHAPED_MAX, "%sO'Neill & \\X\xc3\x89%s", start, end);
        return;
    case NAME_COMMA:
        snprintf(out, NAMES_SHAPED_MAX, "%s,%s%s", start, start, end);
        return;
    case NAME_QUOTE:
        snprintf(out, NAMES_SHAPED_MAX, "%s\"%s", start, end);
        return;
    case NAME_CONTROL:
        snprintf(out, NAMES_SHAPED_MAX, "%s%s%s", start, control_char(token), end);
        return;
    case NAME_NEWLINE:
        snprintf(out, NAMES_SHAPED_MAX, "%s\n%s%s", start, start, end);
        return;
    case NAME_RECORD:
    case NAME_LINES:
        make_record(out, start, shape == NAME_RECORD ? "," : "\n", is_email);
        return;
    default:
        assert(shape == NAME_LONG || shape == NAME_WIDEST);
        fill_name(out, start, shape == NAME_LONG ? "x" : emoji, end);
    }
}

// Writes a plain login of a segment; returns its length.
static size_t login_in(char out[NAMES_MAX], uint32_t token, uint32_t segment)
{
    size_t len = names_login(out, token);

    if (segment > 0)
        len += (size_t)snprintf(out + len, NAMES_MAX - len, "%c%" PRIu32, SEGMENT_MARK, segment);
    return len;
}

void names_make(struct names *names, uint32_t token, uint32_t segment, enum name_shape shape)
{
    char start[NAMES_MAX + 1];
    bool sendable = shape < NAME_COMMA; // the wire can carry the shapes before NAME_COMMA
    size_t len = login_in(start, token, segment);

    snprintf(names->login, sizeof names->login, "%s", start);
    snprintf(names->email, sizeof names->email, "%s" DOMAIN, start);
    if (shape == NAME_PLAIN)
        return;
    start[len] = TAIL_MARK;
    start[len + 1] = '\0';
    // Of three tokens that cannot be sent, one has a bad address, one a bad login, and one both.
    if (sendable || token % 3 != 0)
        make_name(names->login, start, shape, token, false);
    if (sendable || token % 3 != 1)
        make_name(names->email, start, shape, token, true);
}

void names_change(struct names *names, uint32_t token, uint32_t segment, bool email)
{
    char login[NAMES_MAX];

    // The changed name is no plain one, so it has a '~' (TAIL_MARK) and a tail.
    login_in(login, token, segment);
    if (email)
        snprintf(names->email, sizeof names->email, "%s~New&Better" DOMAIN, login);
    else
        snprintf(names->login, sizeof names->login, "%s~New&Better", login);
}

void names_quote(struct buf *out, const char *text)
{
    buf_append_char(out, '"');
    for (const char *p = text; *p; p++) {
        if (*p == '"' || *p == '\\')
            buf_append_char(out, '\\');
        buf_append_char(out, *p);
    }
    buf_append_char(out, '"');
}

// --- from a login to its token --------------------------------------------------------

// Reads a number of `min` to `max` digits. One of more than `min` digits must not begin with 0, so
// that each number has only one spelling. False for anything else.
static bool read_name_number(
    const char *digits, size_t len, size_t min, size_t max, uint32_t *number)
{
    if (len < min || len > max || (len > min && digits[0] == '0'))
        return false;
    *number = 0;
    for (size_t i = 0; i < len; i++) {
        if (digits[i] < '0' || digits[i] > '9')
            return false;
        *number = *number * 10 + (uint32_t)(digits[i] - '0');
    }
    return true;
}

bool names_token(const char *login, size_t len, uint32_t *token, uint32_t *segment)
{
    const char *tail = memchr(login, TAIL_MARK, len);

    len = tail ? (size_t)(tail - login) : len;
    const char *point = memchr(login, SEGMENT_MARK, len);
    size_t plain = point ? (size_t)(point - login) : len;
    *segment = 0;
    return plain > 0 && login[0] == 't' &&
           read_name_number(login + 1, plain - 1, DIGITS_MIN, DIGITS_MAX, token) &&
           (!point ||
               (read_name_number(point + 1, len - plain - 1, 1, SEGMENT_DIGITS_MAX, segment) &&
                   *segment > 0));
}
