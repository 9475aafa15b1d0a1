#include "mailroom-sender/settings.h"

#include <openssl/crypto.h>

#include "base/program.h"

#define PASSWORD_MAX 1024
#define AT(member) offsetof(struct settings, member)

static const struct variable table[] = {
    {"SENDER_URL", VARIABLE_SECRET, AT(url), 1, 1024, NULL,
        "the SMTP server: smtp://host:587, or smtps://host:465 (required)"},
    {"SENDER_TLS", VARIABLE_TEXT, AT(tls), 1, 16, "require",
        "require: no mail and no password without TLS; none: never (a server on this machine)"},
    {"SENDER_CA_FILE", VARIABLE_TEXT, AT(ca_file), 1, 4095, NULL,
        "the certificates that are trusted, instead of the system's"},
    {"SENDER_USER", VARIABLE_TEXT, AT(user), 1, 256, NULL,
        "the name to log in with; without it, no login"},
    {"SENDER_PASSWORD", VARIABLE_SECRET, AT(password), 1, PASSWORD_MAX, NULL,
        "the password that belongs to it"},
    {"SENDER_PASSWORD_FILE", VARIABLE_TEXT, AT(password_file), 1, 4095, NULL,
        "a file that holds the password instead"},
    {"SENDER_FROM", VARIABLE_TEXT, AT(from), 3, 254, NULL,
        "the address that mails come from, or 'Name <address>' (required)"},
    {"SENDER_SITE", VARIABLE_TEXT, AT(site), 1, 1024, NULL,
        "what links begin with: https://example.org (required)"},
    {"SENDER_ACTIVATION", VARIABLE_TEXT, AT(activation), 1, 4095, NULL,
        "the template of an activation mail, instead of the built-in one"},
    {"SENDER_RECOVERY", VARIABLE_TEXT, AT(recovery), 1, 4095, NULL,
        "the template of a recovery mail, instead of the built-in one"},
    {"SENDER_RATE", VARIABLE_NUMBER, AT(rate), 0, 1000000, "0",
        "mails a second at most; 0: no limit"},
    {"SENDER_BURST", VARIABLE_NUMBER, AT(burst), 1, 1000000, "1",
        "how many may follow each other at once after a pause"},
    {"SENDER_DAILY", VARIABLE_NUMBER, AT(daily), 0, 1000000000, "0",
        "mails a day (UTC) at most, of which each try counts; 0: no limit"},
    {"SENDER_STATE_FILE", VARIABLE_TEXT, AT(state_file), 1, 4095, NULL,
        "a file that keeps the day's count when the sender is started again"},
    {"SENDER_TIMEOUT", VARIABLE_NUMBER, AT(timeout_ms), 1, 3600000, "30000",
        "milliseconds that the server may take for one mail; all mails of the lines in flight must "
        "fit into the collector's answer timeout"},
    {"SENDER_ATTEMPTS", VARIABLE_NUMBER, AT(attempts), 1, 1000, "8",
        "how often a mail is tried when there is nobody to answer (--no-answers)"},
};

#define SETTINGS (sizeof table / sizeof table[0])

// Sets a number, which may have a fraction. It must begin with a digit, because strtod would take
// blanks, a sign, and words such as "inf".
static bool set_sender_number(
    void *into, const struct variable *row, const char *value, struct err *e)
{
    char *end;

    errno = 0;
    double number = strtod(value, &end);
    if (*value < '0' || *value > '9' || *end || errno || !(number >= (double)row->min) ||
        number > (double)row->max)
        return err_set(e, ERR_USAGE, "%s is '%s'; it must be a number from %" PRId64 " to %" PRId64,
            row->name, value, row->min, row->max);
    *(double *)(void *)((char *)into + row->offset) = number;
    return true;
}

const struct variables settings_variables = {.program = "mailroom-sender",
    .prefix = "SENDER_",
    .rows = table,
    .count = SETTINGS,
    .one_line = true,
    .set_number = set_sender_number};

// True when the server is on this machine. An address counts only if it is the whole name of the
// host: 127.0.0.1.example.org is elsewhere.
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

// Cuts 'Name <address>' in two; leaves a bare address alone. A name in quotes loses its quotes,
// because the header of the mail adds quotes.
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

// True when a name may stand in quotes in a header.
static bool fits_in_quotes(const char *name)
{
    for (; *name; name++)
        if ((unsigned char)*name < 0x20 || (unsigned char)*name > 0x7e || strchr("\"\\<>", *name))
            return false;
    return true;
}

static bool check_sender_settings(const struct settings *s, struct err *e)
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
    bool has_user = s->user, has_password = s->password || s->password_file;
    if (has_user != has_password)
        return err_set(
            e, ERR_USAGE, "SENDER_USER and its password go together; only one of them is set");
    return true;
}

// Reads the password from the first line of its file, if SENDER_PASSWORD_FILE is set. If all users
// may read the file, a warning names it.
static bool read_password(struct settings *s, struct err *e)
{
    char line[PASSWORD_MAX + 2]; // the longest password, one character that is too many, and a NUL

    if (!s->password_file)
        return true;
    if (!program_read_secret(s->password_file, true, line, sizeof line))
        return err_sys(e, ERR_USAGE, "SENDER_PASSWORD_FILE: %s cannot be read", s->password_file);
    bool too_long = strlen(line) > PASSWORD_MAX;
    s->password = *line ? strdup(line) : NULL;
    OPENSSL_cleanse(line, sizeof line);
    if (too_long)
        return err_set(e, ERR_USAGE, "SENDER_PASSWORD_FILE: the first line of %s is too long",
            s->password_file);
    return s->password ||
           err_set(e, ERR_USAGE, "SENDER_PASSWORD_FILE: %s holds no password", s->password_file);
}

bool settings_load(struct settings *s, char *const env[], struct err *e)
{
    *s = (struct settings){0};
    return variables_read(&settings_variables, s, env, e) && (!s->from || cut_from(s, e)) &&
           check_sender_settings(s, e) && read_password(s, e);
}

void settings_fini(struct settings *s)
{
    variables_fini(&settings_variables, s);
    free(s->from_name);
    *s = (struct settings){0};
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
