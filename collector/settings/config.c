#include "settings/config.h"

#include <libpq-fe.h>
#include <openssl/crypto.h>

#include "base/program.h"

#define PREFIX "MAILROOM_"
#define HEX_DIGITS "0123456789abcdefABCDEF"

// The kinds of numbers, which set_number tells apart.
enum { MILLISECONDS = VARIABLE_NUMBER, WINDOW, COUNT };

#define AT(member) offsetof(struct config, member)
#define DAY_MS INT64_C(86400000)

static const struct variable settings[] = {
    {PREFIX "DATABASE_URL", VARIABLE_SECRET, AT(database_url), 1, 4096, NULL,
        "where the database is: a libpq connection string or URI (required)"},
    {PREFIX "SECRET_KEY", VARIABLE_SECRET, AT(secret_key), 0, INT32_MAX, NULL,
        "the key that signs tokens: 64 hex digits (required, here or in a file)"},
    {PREFIX "SECRET_KEY_FILE", VARIABLE_TEXT, AT(secret_key_file), 1, 4095, NULL,
        "a file that holds the key instead"},
    {PREFIX "CHANNEL_NAME", VARIABLE_TEXT, AT(channel_name), 1, 63, "token_insert",
        "the channel on which new tokens are announced"},
    {PREFIX "QUEUE_NAME", VARIABLE_TEXT, AT(queue_name), 1, 63, "mailroom",
        "the queue: it has a row in the table jobs"},
    {PREFIX "HEALTHCHECK_INTERVAL", MILLISECONDS, AT(healthcheck_interval_ms), 1, DAY_MS, "270000",
        "how long the server may be silent before it is asked for a sign of life; "
        "at least the batch timeout"},
    {PREFIX "BATCH_TIMEOUT", WINDOW, AT(batch_timeout_ms), 0, DAY_MS, "5000",
        "how long a token waits for its batch to fill; 0: not at all; auto:20..500: the collector "
        "chooses from 20 to 500 ms by the present rate, and does not wait at a trickle"},
    {PREFIX "BATCH_LIMIT", COUNT, AT(batch_limit), 1, 100000, "10",
        "how many tokens a line holds at most"},
    {PREFIX "DEQUEUE", VARIABLE_TEXT, AT(dequeue), 1, 63, "cursor",
        "how tokens are dequeued: cursor, by one collector, in commit order; shared, by any number "
        "(its older name skip-locked is accepted); or leased, by any number, with a sender that "
        "answers"},
    {PREFIX "GRACE", MILLISECONDS, AT(grace_ms), 0, DAY_MS, "500",
        "how long a collector whose session ended may come back before another takes over"},
    {PREFIX "LEASE", MILLISECONDS, AT(lease_ms), 1000, DAY_MS, "30000",
        "how long a collector may do nothing, while tokens wait and its session seems alive, "
        "before another takes over; at most the health-check interval plus 5 s"},
    {PREFIX "IN_FLIGHT", COUNT, AT(leased.in_flight), 1, 1000, "4",
        "leased: how many lines may be without an answer"},
    {PREFIX "ANSWER_TIMEOUT", MILLISECONDS, AT(leased.answer_timeout_ms), 10, DAY_MS, "60000",
        "leased: how long to wait for an answer before the token is tried again"},
    {PREFIX "ATTEMPTS", COUNT, AT(leased.attempts), 1, 1000, "8",
        "leased: how many failed attempts make a token dead"},
    {PREFIX "RETRY_BASE", MILLISECONDS, AT(leased.retry_base_ms), 1, DAY_MS, "1000",
        "leased: a token is tried again within twice this time, and each further error doubles "
        "that"},
    {PREFIX "RETRY_MAX", MILLISECONDS, AT(leased.retry_max_ms), 1, DAY_MS, "900000",
        "leased: the most that it grows to"},
    {PREFIX "BUDGET", VARIABLE_TEXT, AT(budget.rate), 1, 32, NULL,
        "how many tokens a second all collectors of the queue may send, such as 0.3858/s"},
    {PREFIX "BURST", COUNT, AT(budget.burst), 1, 1000000, "50",
        "with a budget: how many tokens may be sent at once after a pause"},
    {PREFIX "DAILY", COUNT, AT(budget.daily), 0, 1000000000, "0",
        "with a budget: how many tokens may be sent on one day (UTC); 0: as many as it allows"},
    {PREFIX "LANES", VARIABLE_TEXT, AT(lanes), 1, 63, NULL,
        "the lanes that the queue is expected to have, the first one first, such as "
        "password_recovery,activation; mailroom_lanes() makes them"},
    {PREFIX "AGEING", MILLISECONDS, AT(ageing_ms), 0, DAY_MS, "30000",
        "a lower lane whose oldest token has waited for longer gets one line in four; "
        "in whole seconds, rounded up"},
    {PREFIX "METRICS", VARIABLE_TEXT, AT(metrics), 1, 4000, NULL,
        "where OpenMetrics are served: 127.0.0.1:9187, or the path of a Unix socket; or, with a "
        "path that ends in .prom, the file to which they are written every 15 s"},
    {PREFIX "SANDBOX", VARIABLE_TEXT, AT(sandbox), 2, 3, "on",
        "on: once it has started, the collector can start no program and, unless MAILROOM_METRICS "
        "is a path, write no file (Linux); off: it keeps its rights, for libraries that need more"},
};

#define SETTINGS (sizeof settings / sizeof settings[0])

// Sets a whole number. It must begin with a digit, because strtoll would take blanks and a sign.
static bool set_whole_number(
    struct config *c, const struct variable *s, const char *value, struct err *e)
{
    char *end;

    errno = 0;
    long long number = strtoll(value, &end, 10);
    if (*value < '0' || *value > '9' || *end || errno || number < s->min || number > s->max)
        return err_set(e, ERR_USAGE,
            "%s is '%s'; it must be a whole number%s from %" PRId64 " to %" PRId64, s->name, value,
            s->kind == COUNT ? "" : " of milliseconds", s->min, s->max);
    *(int64_t *)((char *)c + s->offset) = number;
    return true;
}

// Sets the batch timeout. The value is auto:LEAST..MOST, both in milliseconds, or a whole number of
// milliseconds.
static bool set_window(struct config *c, const struct variable *s, const char *value, struct err *e)
{
    static const char start[] = "auto:";
    char *dots, *end;

    if (strncmp(value, start, sizeof start - 1) != 0)
        return set_whole_number(c, s, value, e);
    const char *first = value + sizeof start - 1;
    errno = 0;
    // strtoll would take blanks and a sign, so both numbers must begin with a digit.
    long long least = strtoll(first, &dots, 10);
    bool good = *first >= '0' && *first <= '9' && strncmp(dots, "..", 2) == 0 && dots[2] >= '0' &&
                dots[2] <= '9';
    long long most = good ? strtoll(dots + 2, &end, 10) : 0;
    if (!good || *end || errno || least < 1 || most < least || most > s->max)
        return err_set(e, ERR_USAGE,
            "%s is '%s'; it must be auto:LEAST..MOST in whole milliseconds, such as auto:20..500, "
            "with LEAST from 1 to MOST, and MOST to %" PRId64,
            s->name, value, s->max);
    c->batch_least_ms = least;
    c->batch_timeout_ms = most;
    return true;
}

static bool set_number(void *into, const struct variable *s, const char *value, struct err *e)
{
    return s->kind == WINDOW ? set_window(into, s, value, e) : set_whole_number(into, s, value, e);
}

const struct variables config_variables = {.program = "mailroom-collector",
    .prefix = PREFIX,
    .rows = settings,
    .count = SETTINGS,
    .set_number = set_number};

// `where`: the setting that the message names in place of the key, which it never shows.
static bool decode_key(uint8_t key[SIGN_KEY_LEN], const char *hex, const char *where, struct err *e)
{
    const size_t digits = 2 * (size_t)SIGN_KEY_LEN;

    return (strlen(hex) == digits &&
               OPENSSL_hexstr2buf_ex(key, SIGN_KEY_LEN, NULL, hex, '\0') == 1) ||
           err_set(e, ERR_USAGE,
               "%s holds a value that is not shown here; it must be exactly %zu hex digits", where,
               digits);
}

// Reads the key from the first line of its file.
static bool read_key_file(struct config *c, struct err *e)
{
    char hex[2 * SIGN_KEY_LEN + 2]; // room for the key, a digit too many, and a NUL
    // The user may have given the key itself, or a part of it, in place of the file's name. So no
    // message shows a name that begins with half as many digits as a key has.
    bool hidden = strspn(c->secret_key_file, HEX_DIGITS) >= SIGN_KEY_LEN;

    if (!program_read_secret(c->secret_key_file, !hidden, hex, sizeof hex))
        return err_sys(e, ERR_USAGE, PREFIX "SECRET_KEY_FILE: %s cannot be read",
            hidden ? "a file whose name looks like a key and is not shown" : c->secret_key_file);
    bool ok = decode_key(c->key, hex, PREFIX "SECRET_KEY_FILE", e);
    OPENSSL_cleanse(hex, sizeof hex);
    return ok;
}

// Takes the key from one of its two settings, of which exactly one must be set.
static bool load_key(struct config *c, struct err *e)
{
    // Both are set, or none is.
    if (!c->secret_key == !c->secret_key_file)
        return err_set(e, ERR_USAGE,
            "%s of " PREFIX "SECRET_KEY and " PREFIX
            "SECRET_KEY_FILE is set; exactly one is needed",
            c->secret_key ? "each" : "none");
    if (c->secret_key_file)
        return read_key_file(c, e);
    bool ok = decode_key(c->key, c->secret_key, PREFIX "SECRET_KEY", e);
    OPENSSL_cleanse(c->secret_key, strlen(c->secret_key));
    return ok;
}

// Checks that libpq understands the URL. libpq's own message may quote a password, so it is not
// shown.
static bool check_url(const struct config *c, struct err *e)
{
    if (!c->database_url)
        return err_set(e, ERR_USAGE,
            PREFIX "DATABASE_URL is not set; a libpq connection string or URI is needed");
    char *why = NULL;
    PQconninfoOption *options = PQconninfoParse(c->database_url, &why);
    PQconninfoFree(options);
    PQfreemem(why);
    if (!options)
        return err_set(e, ERR_USAGE,
            PREFIX "DATABASE_URL is a value that is not shown here; it must be a libpq connection "
                   "string or URI with nothing that libpq does not know");
    return true;
}

// Checks what variables_read cannot: choices of words, and settings that depend on each other.
// Fills in what follows from the words.
static bool check_together(struct config *c, struct err *e)
{
    char names[POLICY_NAMES_LEN];

    c->policy = policy_find(c->dequeue);
    if (!c->policy)
        return err_set(e, ERR_USAGE, PREFIX "DEQUEUE is '%s'; it must be one of: %s", c->dequeue,
            policy_names(names));
    c->sandboxed = strcmp(c->sandbox, "on") == 0;
    if (!c->sandboxed && strcmp(c->sandbox, "off") != 0)
        return err_set(e, ERR_USAGE, PREFIX "SANDBOX is '%s'; it must be on or off", c->sandbox);
    // Else health checks would be sent again and again while a batch waits for its timeout.
    if (c->healthcheck_interval_ms < c->batch_timeout_ms)
        return err_set(e, ERR_USAGE,
            PREFIX "HEALTHCHECK_INTERVAL is '%" PRId64 "'; it must be at least " PREFIX
                   "BATCH_TIMEOUT, which is %" PRId64,
            c->healthcheck_interval_ms, c->batch_timeout_ms);
    return true;
}

// Reads the rate, which is a number and `/s`, into per_s.
static bool check_budget_setting(struct budget_config *b, struct err *e)
{
    char *end;

    // Without a rate there is no budget, so the daily limit would be ignored in silence.
    if (!b->rate && b->daily > 0)
        return err_set(e, ERR_USAGE,
            PREFIX "DAILY is '%" PRId64 "'; it needs " PREFIX "BUDGET, of which it is a part",
            b->daily);
    if (!b->rate)
        return true;
    b->per_s = strtod(b->rate, &end);
    if (*b->rate < '0' || *b->rate > '9' || strcmp(end, "/s") != 0 ||
        !(b->per_s >= 1e-6 && b->per_s <= 1e6))
        return err_set(e, ERR_USAGE,
            PREFIX "BUDGET is '%s'; it must be a rate from 0.000001/s to 1000000/s, such as "
                   "0.3858/s",
            b->rate);
    return true;
}

bool config_load(struct config *c, char *const env[], struct err *e)
{
    *c = (struct config){0};
    return variables_read(&config_variables, c, env, e) && check_url(c, e) &&
           check_together(c, e) && check_budget_setting(&c->budget, e) && load_key(c, e);
}

void config_fini(struct config *c)
{
    variables_fini(&config_variables, c);
    OPENSSL_cleanse(c, sizeof *c);
}

static bool is_in_ms(const struct variable *s)
{
    return s->kind == MILLISECONDS || s->kind == WINDOW;
}

void config_help(FILE *out)
{
    for (size_t i = 0; i < SETTINGS; i++) {
        const struct variable *s = &settings[i];
        fprintf(out, "  %s", s->name);
        if (s->default_text)
            fprintf(out, "=%s", s->default_text);
        fprintf(out, "\n      %s%s\n", s->help, is_in_ms(s) ? " (in ms)" : "");
    }
}

void config_markdown(FILE *out)
{
    fprintf(out, "| variable | default | allowed | what it is |\n|---|---|---|---|\n");
    for (size_t i = 0; i < SETTINGS; i++) {
        const struct variable *s = &settings[i];
        const char *unit = is_in_ms(s) ? " ms" : "";
        fprintf(out, "| `%s` | %s%s | ", s->name, s->default_text ? s->default_text : "", unit);
        if (s->kind >= VARIABLE_NUMBER)
            fprintf(out, "%" PRId64 " to %" PRId64 "%s%s", s->min, s->max, unit,
                s->kind == WINDOW ? ", or auto:LEAST..MOST" : "");
        else
            fprintf(out, "text");
        fprintf(out, " | %s |\n", s->help);
    }
}
