#include "mailroom-sender/mail.h"

#include <openssl/evp.h>

#define TEMPLATE_MAX ((size_t)64 * 1024)

static const char activation[] = //
    "Subject: Activate your account\n"
    "\n"
    "Hello {login},\n"
    "\n"
    "this link activates your account:\n"
    "\n"
    "{site}/activate?token={secret}\n"
    "\n"
    "It is good for 15 minutes. If you did not ask for an account, ignore this mail.\n";

static const char recovery[] = //
    "Subject: Choose a new password\n"
    "\n"
    "Hello {login},\n"
    "\n"
    "this link lets you choose a new password:\n"
    "\n"
    "{site}/recover?token={secret}\n"
    "\n"
    "You will be asked for this code: {code}\n"
    "\n"
    "Both are good for 15 minutes. If you did not ask for them, ignore this mail.\n";

enum word { LOGIN, EMAIL, SECRET, CODE, SITE, WORDS };
static const char *const words[WORDS] = {"{login}", "{email}", "{secret}", "{code}", "{site}"};

// Returns the word at this place; WORDS: none.
static enum word word_at(const char *text)
{
    enum word w = 0;

    while (w < WORDS && strncmp(text, words[w], strlen(words[w])) != 0)
        w++;
    return w;
}

// Appends the text of a template's file, and a NUL.
static bool read_file(struct buf *out, const char *path, struct err *e)
{
    FILE *f = fopen(path, "re");
    char piece[4096];
    size_t n;

    if (!f)
        return err_sys(e, ERR_USAGE, "the template %s cannot be read", path);
    while ((n = fread(piece, 1, sizeof piece, f)) > 0)
        buf_append(out, piece, n);
    bool ok = !ferror(f);
    fclose(f);
    if (!ok)
        return err_sys(e, ERR_USAGE, "the template %s cannot be read", path);
    // If the file is too long, the buffer has failed already, and refuses this byte, too.
    if (!buf_append_char(out, '\0'))
        return err_set(
            e, ERR_USAGE, "the template %s is longer than %zu bytes", path, TEMPLATE_MAX - 1);
    return true;
}

// Refuses a body with a brace that begins none of the known words.
static bool check_words(const char *body, const char *name, struct err *e)
{
    for (const char *at = strchr(body, '{'); at; at = strchr(at + 1, '{'))
        if (word_at(at) == WORDS)
            return err_set(e, ERR_USAGE,
                "the template %s has '%.20s'; known are {login}, {email}, {secret}, {code} and "
                "{site}",
                name, at);
    return true;
}

// Cuts the text into subject and body.
static bool split_template(struct template *t, const char *name, struct err *e)
{
    static const char head[] = "Subject: ";
    char *end = strstr(t->text, "\n\n");

    if (strncmp(t->text, head, sizeof head - 1) != 0 || !end)
        return err_set(e, ERR_USAGE,
            "the template %s does not begin with 'Subject: …' and an empty line", name);
    *end = '\0';
    t->subject = t->text + sizeof head - 1;
    t->body = end + 2;
    for (const char *at = t->subject; *at; at++)
        if ((unsigned char)*at < 0x20 || (unsigned char)*at > 0x7e)
            return err_set(e, ERR_USAGE, "the subject of the template %s is not plain ASCII", name);
    return check_words(t->body, name, e);
}

bool template_init(struct template *t, enum token_action action, const char *path, struct err *e)
{
    const char *built_in = action == TOKEN_ACTIVATION ? activation : recovery;
    struct buf text = BUF_INIT(TEMPLATE_MAX);

    bool ok = path ? read_file(&text, path, e)
                   : buf_append(&text, built_in, strlen(built_in) + 1) || err_memory(e);
    *t = (struct template){.text = text.data};
    return ok && split_template(t, path ? path : "that is built in", e);
}

void template_fini(struct template *t)
{
    free(t->text);
    *t = (struct template){0};
}

bool mail_body(struct buf *out, const struct template *t, const struct record *r, const char *site,
    struct err *e)
{
    const struct field values[WORDS] = {
        [LOGIN] = r->login,
        [EMAIL] = r->email,
        [SECRET] = r->secret,
        [CODE] = r->code,
        [SITE] = {.data = site, .len = strlen(site)},
    };

    for (const char *at = t->body; *at;) {
        // Any other brace in a template was refused at the start.
        enum word w = *at == '{' ? word_at(at) : WORDS;
        if (w < WORDS) {
            buf_append(out, values[w].data, values[w].len);
            at += strlen(words[w]);
            continue;
        }
        // A template has the line ends of a file, and a mail those of SMTP.
        if (*at == '\n')
            buf_append_char(out, '\r');
        buf_append_char(out, *at++);
    }
    return !out->failed || err_memory(e);
}

bool mail_id(char out[MAIL_ID_LEN], const struct record *r, const char *from, struct err *e)
{
    unsigned char digest[EVP_MAX_MD_SIZE];
    unsigned len = 0;
    char hex[33] = "";
    const char *at = strrchr(from, '@');

    // The id is a digest of the secret, because mail servers log the id and must not log the
    // secret.
    if (EVP_Digest(r->secret.data, r->secret.len, digest, &len, EVP_sha256(), NULL) != 1)
        return err_set(e, ERR_INTERNAL, "OpenSSL has no SHA-256");
    for (size_t i = 0; i < 16; i++)
        snprintf(hex + 2 * i, 3, "%02x", digest[i]);
    snprintf(out, MAIL_ID_LEN, "<%s%s>", hex, at ? at : "@localhost");
    return true;
}

// --- its record --------------------------------------------------------------

size_t record_count(const char *line, size_t len)
{
    size_t fields = 1;

    for (size_t i = 0; i < len; i++)
        fields += line[i] == ',';
    return len == 0 || fields % RECORD_FIELDS != 0 ? 0 : fields / RECORD_FIELDS;
}

// Returns the next field, and moves *at past it and its comma.
static struct field take_field(const char **at, const char *end)
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

// True if a field without control characters is an address that cannot forge an SMTP command:
// libcurl puts it between angle brackets, so it may hold neither these nor a space.
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

// Returns why the mail cannot be sent; NULL: it can.
static const char *why_unsendable(const struct record *r, struct field action)
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
    struct field action = take_field(at, end);

    r->action =
        action.len == 1 && action.data[0] == '2' ? TOKEN_PASSWORD_RECOVERY : TOKEN_ACTIVATION;
    r->email = take_field(at, end);
    r->login = take_field(at, end);
    r->secret = take_field(at, end);
    r->code = take_field(at, end);
    return why_unsendable(r, action);
}
