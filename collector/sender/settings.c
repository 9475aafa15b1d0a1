#include "sender/settings.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <openssl/crypto.h>

#include "base/program.h"

enum type { TEXT, SECRET, NUMBER };

struct setting {
    const char *name;
    enum type type;
    size_t offset;
    double min, max;
    const char *default_text; // NULL: there is none
    const char *help;
};

#define AT(member) offsetof(struct settings, member)

static const struct setting table[] = {
    {"SENDER_URL", TEXT, AT(url), 1, 1024, NULL,
        "the SMTP server: smtp://host:587, or smtps://host:465 (required)"},
    {"SENDER_TLS", TEXT, AT(tls), 1, 16, "require",
        "require: no mail and no password without TLS; none: never (a server on this machine)"},
    {"SENDER_CA_FILE", TEXT, AT(ca_file), 1, 4095, NULL,
        "the certificates that are trusted, instead of the system's"},
    {"SENDER_USER", TEXT, AT(user), 1, 256, NULL, "the name to log in with; without it, no login"},
    {"SENDER_PASSWORD", SECRET, AT(password), 1, 1024, NULL, "the password that belongs to it"},
    {"SENDER_PASSWORD_FILE", TEXT, AT(password_file), 1, 4095, NULL,
        "a file that holds the password instead"},
    {"SENDER_FROM", TEXT, AT(from), 3, 254, NULL,
        "the address that mails come from, or 'Name <address>' (required)"},
    {"SENDER_SITE", TEXT, AT(site), 1, 1024, NULL,
        "what links begin with: https://example.org (required)"},
    {"SENDER_ACTIVATION", TEXT, AT(activation), 1, 4095, NULL,
        "the template of an activation mail, instead of the built-in one"},
    {"SENDER_RECOVERY", TEXT, AT(recovery), 1, 4095, NULL,
        "the template of a recovery mail, instead of the built-in one"},
    {"SENDER_RATE", NUMBER, AT(rate), 0, 1e6, "0", "mails a second at most; 0: no limit"},
    {"SENDER_BURST", NUMBER, AT(burst), 1, 1e6, "1",
        "how many may follow each other at once after a pause"},
    {"SENDER_DAILY", NUMBER, AT(daily), 0, 1e9, "0", "mails a day (UTC) at most; 0: no limit"},
    {"SENDER_STATE_FILE", TEXT, AT(state_file), 1, 4095, NULL,
        "a file that keeps the day's count when the sender is started again"},
    {"SENDER_TIMEOUT", NUMBER, AT(timeout_ms), 1, 3600000, "30000",
        "milliseconds that the server may take for one mail; less than the collector's answer "
        "timeout"},
    {"SENDER_ATTEMPTS", NUMBER, AT(attempts), 1, 1000, "8",
        "how often a mail is tried when there is nobody to answer (--no-answers)"},
};

#define SETTINGS (sizeof table / sizeof table[0])

static char **text_at(struct settings *s, const struct setting *row)
{
    return (char **)((char *)s + row->offset);
}

static const char *lookup_setting(char *const environ[], const char *name)
{
    size_t len = strlen(name);

    for (size_t i = 0; environ[i]; i++)
        if (strncmp(environ[i], name, len) == 0 && environ[i][len] == '=')
            return environ[i] + len + 1;
    return NULL;
}

static bool set_sender_number(
    struct settings *s, const struct setting *row, const char *value, struct err *e)
{
    char *end;

    errno = 0;
    double number = strtod(value, &end);
    if (*value < '0' || *value > '9' || *end || errno || !(number >= row->min) || number > row->max)
        return err_set(e, ERR_USAGE, "%s is '%s'; it must be a number from %.0f to %.0f", row->name,
            value, row->min, row->max);
    *(double *)((char *)s + row->offset) = number;
    return true;
}

static bool set_sender_text(
    struct settings *s, const struct setting *row, const char *value, struct err *e)
{
    size_t len = strlen(value);

    if (len < (size_t)row->min || len > (size_t)row->max || strpbrk(value, "\r\n"))
        return err_set(e, ERR_USAGE, "%s: it must have %.0f to %.0f characters on one line",
            row->name, row->min, row->max);
    *text_at(s, row) = strdup(value);
    return *text_at(s, row) || err_memory(e);
}

// True when the server is on this machine. Of an address, it must be all of the host's name:
// 127.0.0.1.example.org is elsewhere.
static bool is_local(const char *url)
{
    static const char *const names[] = {"localhost", "[::1]"};
    const char *host = strstr(url, "://") + strlen("://");
    size_t len = *host == '[' ? strcspn(host, "]") + 1 : strcspn(host, ":/");

    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strlen(names[i]) == len && strncmp(host, names[i], len) == 0)
            return true;
    return strncmp(host, "127.", 4) == 0 && strspn(host, "0123456789.") == len;
}

// Cuts 'Name <address>' in two. A name in quotes loses them, because it gets its own.
static bool cut_from(struct settings *s, struct err *e)
{
    char *open = strchr(s->from, '<');
    size_t len = strlen(s->from);

    if (!open || s->from[len - 1] != '>')
        return true;
    char *address = strndup(open + 1, len - (size_t)(open - s->from) - 2);
    while (open > s->from && open[-1] == ' ')
        open--;
    *open = '\0';
    s->from_name = s->from;
    s->from = address;
    if (open - s->from_name > 1 && *s->from_name == '"' && open[-1] == '"') {
        open[-1] = '\0';
        memmove(s->from_name, s->from_name + 1, strlen(s->from_name));
    }
    return address || err_memory(e);
}

// Tells whether a name may stand in quotes in a header.
static bool fits_in_quotes(const char *name)
{
    for (; *name; name++)
        if ((unsigned char)*name < 0x20 || (unsigned char)*name > 0x7e || strchr("\"\\<>", *name))
            return false;
    return true;
}

static bool check(const struct settings *s, struct err *e)
{
    const struct {
        const char *name, *value;
    } required[] = {{"SENDER_URL", s->url}, {"SENDER_FROM", s->from}, {"SENDER_SITE", s->site}};

    for (size_t i = 0; i < sizeof required / sizeof required[0]; i++)
        if (!required[i].value)
            return err_set(e, ERR_USAGE, "%s is not set; it is needed", required[i].name);
    // The message does not show the URL, which may have a password.
    if (strncmp(s->url, "smtp://", 7) != 0 && strncmp(s->url, "smtps://", 8) != 0)
        return err_set(e, ERR_USAGE, "SENDER_URL must be smtp://host or smtps://host");
    if (strchr(s->url, '@'))
        return err_set(e, ERR_USAGE,
            "SENDER_URL has a user; SENDER_USER and SENDER_PASSWORD_FILE are for that");
    if (strcmp(s->tls, "require") != 0 && strcmp(s->tls, "none") != 0)
        return err_set(e, ERR_USAGE, "SENDER_TLS is '%s'; it must be require or none", s->tls);
    if (s->user && strcmp(s->tls, "none") == 0 && !is_local(s->url))
        return err_set(e, ERR_USAGE,
            "SENDER_TLS is 'none', which sends the password in the clear; that is for a server on "
            "this machine only, such as smtp://localhost:25");
    if (!strchr(s->from, '@') || strpbrk(s->from, "<> "))
        return err_set(e, ERR_USAGE,
            "SENDER_FROM has '%s'; it must be a bare address, or 'Name <address>'", s->from);
    if (s->from_name && !fits_in_quotes(s->from_name))
        return err_set(e, ERR_USAGE,
            "SENDER_FROM has the name '%s'; it must be plain ASCII without quotes", s->from_name);
    if (s->password && s->password_file)
        return err_set(
            e, ERR_USAGE, "each of SENDER_PASSWORD and SENDER_PASSWORD_FILE is set; one is enough");
    if (!s->user != !(s->password || s->password_file))
        return err_set(
            e, ERR_USAGE, "SENDER_USER and its password go together; only one of them is set");
    return true;
}

static bool read_password(struct settings *s, struct err *e)
{
    char line[1026];
    FILE *f;

    if (!s->password_file)
        return true;
    if (!(f = fopen(s->password_file, "re")))
        return err_sys(e, ERR_USAGE, "SENDER_PASSWORD_FILE: %s cannot be read", s->password_file);
    // Unbuffered, so that the password leaves no copy in the C library's memory.
    setvbuf(f, NULL, _IONBF, 0);
    program_warn_if_loose(fileno(f), s->password_file);
    size_t len = fread(line, 1, sizeof line - 1, f);
    fclose(f);
    line[len] = '\0';
    line[strcspn(line, "\r\n")] = '\0';
    s->password = *line ? strdup(line) : NULL;
    OPENSSL_cleanse(line, sizeof line);
    return s->password ||
           err_set(e, ERR_USAGE, "SENDER_PASSWORD_FILE: %s holds no password", s->password_file);
}

bool settings_load(struct settings *s, char *const environ[], struct err *e)
{
    *s = (struct settings){0};
    for (size_t i = 0; i < SETTINGS; i++) {
        const struct setting *row = &table[i];
        const char *value = lookup_setting(environ, row->name);
        if (!value && !(value = row->default_text))
            continue;
        if (!(row->type == NUMBER ? set_sender_number : set_sender_text)(s, row, value, e))
            return false;
    }
    return (!s->from || cut_from(s, e)) && check(s, e) && read_password(s, e);
}

void settings_wipe(char *const environ[])
{
    for (size_t i = 0; i < SETTINGS; i++)
        if (table[i].type == SECRET)
            program_wipe(environ, table[i].name);
}

void settings_fini(struct settings *s)
{
    for (size_t i = 0; i < SETTINGS; i++) {
        if (table[i].type == NUMBER)
            continue;
        char *text = *text_at(s, &table[i]);
        if (text && table[i].type == SECRET)
            OPENSSL_cleanse(text, strlen(text));
        free(text);
    }
    free(s->from_name);
    *s = (struct settings){0};
}

const char *settings_unknown(char *const environ[], size_t *at, size_t *len)
{
    while (environ[*at]) {
        const char *name = environ[(*at)++];
        bool known = strncmp(name, "SENDER_", strlen("SENDER_")) != 0;
        *len = strcspn(name, "=");
        for (size_t i = 0; i < SETTINGS && !known; i++)
            known = strlen(table[i].name) == *len && strncmp(table[i].name, name, *len) == 0;
        if (!known)
            return name;
    }
    return NULL;
}

void settings_help(FILE *out)
{
    for (size_t i = 0; i < SETTINGS; i++)
        fprintf(out, "  %s%s%s\n      %s\n", table[i].name, table[i].default_text ? "=" : "",
            table[i].default_text ? table[i].default_text : "", table[i].help);
}

void settings_markdown(FILE *out)
{
    fprintf(out, "| variable | default | what it is |\n|---|---|---|\n");
    for (size_t i = 0; i < SETTINGS; i++)
        fprintf(out, "| `%s` | %s | %s |\n", table[i].name,
            table[i].default_text ? table[i].default_text : "", table[i].help);
}
