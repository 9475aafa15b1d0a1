#include "sender/mail.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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
    // A buffer that has failed refuses this, too: then the file is too long.
    if (!buf_append_char(out, '\0'))
        return err_set(
            e, ERR_USAGE, "the template %s is longer than %zu bytes", path, TEMPLATE_MAX - 1);
    return true;
}

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
static bool cut(struct template *t, const char *name, struct err *e)
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
    struct buf text;

    *t = (struct template){0};
    buf_init(&text, TEMPLATE_MAX);
    if (path && !read_file(&text, path, e)) {
        buf_fini(&text);
        return false;
    }
    if (!path)
        buf_append(&text, action == TOKEN_ACTIVATION ? activation : recovery,
            action == TOKEN_ACTIVATION ? sizeof activation : sizeof recovery);
    if (text.failed) {
        buf_fini(&text);
        return err_memory(e);
    }
    t->text = text.data;
    return cut(t, path ? path : "that is built in", e);
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
