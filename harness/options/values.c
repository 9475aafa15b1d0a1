#include "options/options.h"

#include "os/other_user.h"
#include "os/child_env.h"
#include "scenario/grammar.h"
#include "scenario/suggest.h"
#include "scenario/units.h"

// Reads a whole number from min to max. ERR_USAGE names the option.
static bool parse_option_number(const char *name, const char *text, unsigned long long min,
    unsigned long long max, unsigned long long *value, struct err *e)
{
    char *end;

    errno = 0;
    *value = strtoull(text, &end, 10);
    if (*text < '0' || *text > '9' || *end || errno || *value < min || *value > max)
        return err_set(e, ERR_USAGE, "--%s takes a whole number from %llu to %llu, not '%.40s'",
            name, min, max, text);
    return true;
}

bool values_percent(const char *name, const char *text, double *share, struct err *e)
{
    char *end;
    double percent = strtod(text, &end);

    if (end == text || (strcmp(end, "%") != 0 && *end) || !(percent >= 1 && percent <= 1000))
        return err_set(e, ERR_USAGE, "--%s takes 1%% to 1000%%, not '%.40s'", name, text);
    *share = percent / 100;
    return true;
}

bool values_count(const char *name, const char *text, int most, int *value, struct err *e)
{
    unsigned long long number;

    if (!parse_option_number(name, text, 1, (unsigned long long)most, &number, e))
        return false;
    *value = (int)number;
    return true;
}

bool values_within(const struct options *o, const char *usual, int64_t *ns, struct err *e)
{
    return units_duration(o->within ? o->within : usual, ns, e) || err_prefix(e, "--within");
}

// Reads the value of --scale. It begins with a digit: strtod alone would take blanks and a sign,
// too.
static bool read_scale(const char *text, double *scale, struct err *e)
{
    char *end;

    *scale = strtod(text, &end);
    if (*text < '0' || *text > '9' || *end || !(*scale >= 0.01 && *scale <= 100))
        return err_set(e, ERR_USAGE, "--scale takes a factor from 0.01 to 100, not '%.40s'", text);
    return true;
}

// Stores the promises as an override. Each word is checked here, because the scenario's parser
// would name the override and not --promises in its error.
static bool read_promises(struct options *o, const char *value, struct err *e)
{
    const struct word *w;
    struct suggestion near;
    char word[SUGGEST_WORD_MAX + 1];

    for (const char *p = value, *end; *p; p = *end ? end + 1 : end) {
        end = p + strcspn(p, ",");
        snprintf(word, sizeof word, "%.*s", (int)(end - p), p);
        suggest_init(&near, word);
        for (w = promise_words; w->name && strcmp(w->name, word) != 0; w++)
            suggest_offer(&near, w->name);
        if (!w->name)
            return err_set(e, ERR_USAGE, "--promises: '%.40s' is no promise%s", word, near.text);
    }
    int len = snprintf(o->promises, sizeof o->promises, "collector.promises=[%s]", value);
    return len < (int)sizeof o->promises || err_set(e, ERR_USAGE, "--promises: too many words");
}

// Stores the value of --postgres. A word that is neither a provider nor a conninfo nor a URI is
// refused, because it is a mistake and not the name of a database. env:NAME stands for the value of
// that environment variable.
static bool read_postgres(struct options *o, const char *value, struct err *e)
{
    // env: exists because everybody on the machine can read our arguments, but not our environment.
    const char *shown = value; // not the variable's value, which may hold a password
    if (strncmp(value, "env:", 4) == 0) {
        const char *name = value + 4;
        value = getenv(name);
        if (!value)
            return err_set(e, ERR_USAGE, "--postgres env:%.40s: %.40s is not set", name, name);
    }
    // libpq itself would take any other word for the name of a database, on the server that its
    // environment variables name.
    bool conninfo = strchr(value, '=') || strstr(value, "://");
    bool container = strcmp(value, "container") == 0;
    bool patroni = strcmp(value, "patroni") == 0;

    if (!conninfo && !container && !patroni && strcmp(value, "local") != 0)
        return err_set(e, ERR_USAGE,
            "--postgres takes local, container, patroni or a conninfo such as 'host=db "
            "user=postgres', not %s'%.20s'",
            shown != value ? "the value of " : "", shown);
    o->conninfo = conninfo ? value : NULL;
    o->provider = conninfo    ? "postgres.provider=url"
                  : container ? "postgres.provider=container"
                  : patroni   ? "postgres.provider=patroni"
                              : "postgres.provider=local";
    return true;
}

bool values_read(struct options *o, enum read_id id, const char *value, struct err *e)
{
    unsigned long long number;

    switch (id) {
    case READ_POSTGRES:
        return read_postgres(o, value, e);
    case READ_SEED:
        if (!parse_option_number("seed", value, 0, SEED_MAX, &number, e))
            return false;
        // The seed is stored as an override, so that the resolved scenario has it like any other
        // key.
        snprintf(o->seed, sizeof o->seed, "seed=%llu", number);
        return true;
    case READ_SET:
        o->sets[o->set_count++] = value;
        return true;
    case READ_SHARD:
        return shard_parse(&o->shard, value, e) || err_prefix(e, "--shard");
    case READ_PASS_ENV:
        return child_env_pass(value, e);
    case READ_AS:
        return other_user_choose(value, e);
    case READ_PROMISES:
        return read_promises(o, value, e);
    case READ_SCALE:
        return read_scale(value, &o->scale, e);
    }
    return true;
}
