#include "subject/command.h"

#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <libpq-fe.h>

#include "base/array.h"
#include "base/clock.h"
#include "os/paths.h"
#include "os/process.h"
#include "plan/rng.h"
#include "scenario/suggest.h"
#include "subject/manifest.h"

extern char **environ;

static const char ours[] = "MAILROOM_"; // begins the name of each setting of the collector

#define KEY_STREAM 1000 // number of a stream of the seed that the plan does not use

static bool append(char ***list, size_t *count, const char *fmt, ...) PRINTF_LIKE(3, 4);

static bool append(char ***list, size_t *count, const char *fmt, ...)
{
    va_list args;
    char *text;

    va_start(args, fmt);
    int len = vasprintf(&text, fmt, args);
    va_end(args);
    if (len < 0)
        return false;
    if (!array_grow(list, *count, 2, sizeof text)) {
        free(text);
        return false;
    }
    (*list)[(*count)++] = text;
    (*list)[*count] = NULL;
    return true;
}

static bool split(char ***argv, const char *line)
{
    size_t count = 0;

    for (const char *p = line; *(p += strspn(p, " \t"));) {
        size_t len = strcspn(p, " \t");
        if (!append(argv, &count, "%.*s", (int)len, p))
            return false;
        p += len;
    }
    return true;
}

// True when the table that `mailroom-collector --settings` prints has a row with this name. Offers
// each name to `near`.
static bool has_row(const char *table, const char *name, struct suggestion *near)
{
    const char *row = table;
    bool found = false;

    while (!found && (row = strstr(row, "\n| `"))) {
        char known[SUGGEST_WORD_MAX + 1];
        row += strlen("\n| `");
        snprintf(known, sizeof known, "%.*s", (int)strcspn(row, "`"), row);
        suggest_offer(near, known);
        found = strcmp(known, name) == 0;
    }
    return found;
}

// Refuses a setting that the reference collector does not have, because the collector only logs its
// name and ignores it.
static bool has_settings(const char *program, const struct settings *env, struct err *e)
{
    const char *const argv[] = {program, "--settings", NULL};
    char table[16384] = "", text[80];

    for (size_t i = 0; i < env->count; i++) {
        const char *name = env->items[i].name;
        struct suggestion near;
        suggest_init(&near, name);
        if (strncmp(name, ours, sizeof ours - 1) != 0)
            continue;
        if (!*table && !process_run(argv, (uid_t)-1, 0, table, sizeof table, e))
            return false;
        if (!has_row(table, name, &near))
            return err_set(e, ERR_USAGE,
                "collector.env: '%.100s' is not a setting of mailroom-collector%s", name,
                suggest_text(&near, text, sizeof text));
    }
    return true;
}

static bool make_argv(
    struct command *c, const struct scenario *s, const char *collector, struct err *e)
{
    char path[PATH_MAX];
    size_t count = 0;
    bool ok = true;

    if (collector ? strcmp(collector, COMMAND_REFERENCE) == 0 : !s->collector.command) {
        if (!path_sibling(path, "mailroom-collector", e))
            return false;
        if (!has_settings(path, &s->collector.env, e))
            return false;
        ok = append(&c->argv, &count, "%s", path);
    } else if (collector) {
        ok = split(&c->argv, collector);
    } else {
        for (char **arg = s->collector.command; ok && *arg; arg++)
            ok = append(&c->argv, &count, "%s", *arg);
    }
    if (ok && !c->argv)
        return err_set(e, ERR_USAGE, "the collector's command names no program");
    return ok || err_memory(e);
}

// Copies our environment without MAILROOM_*, so that no setting in it reaches the collector by
// accident.
static bool copy_environment(struct command *c, size_t *count)
{
    for (char **v = environ; *v; v++) {
        if (strncmp(*v, ours, sizeof ours - 1) != 0 && !append(&c->env, count, "%s", *v))
            return false;
    }
    return true;
}

static bool is_set(const struct scenario *s, const char *variable)
{
    for (size_t i = 0; i < s->collector.env.count; i++) {
        if (strcmp(s->collector.env.items[i].name, variable) == 0)
            return true;
    }
    return false;
}

// Passes the mode in the variable that collectors of all versions know, unless the scenario's
// environment sets it.
static bool add_dequeue(struct command *c, const struct scenario *s, size_t *count)
{
    static const char *const values[] = {[DEQUEUE_SHARED] = "shared", [DEQUEUE_LEASED] = "leased"};

    return s->collector.dequeue == DEQUEUE_CURSOR || is_set(s, "MAILROOM_DEQUEUE") ||
           append(&c->env, count, "MAILROOM_DEQUEUE=%s", values[s->collector.dequeue]);
}

// Passes a health-check interval only where the collector's default is too short for the batch
// timeout.
static bool add_healthcheck(struct command *c, const struct scenario *s, size_t *count)
{
    static const char name[] = "MAILROOM_HEALTHCHECK_INTERVAL";
    int64_t ms = scenario_healthcheck_ms(s);

    return ms == SCENARIO_HEALTHCHECK_MS || is_set(s, name) ||
           append(&c->env, count, "%s=%lld", name, (long long)ms);
}

static bool add_window(struct command *c, const struct scenario *s, size_t *count)
{
    long long most_ms = s->collector.batch_timeout_ns / NS_PER_MS;
    long long least_ms = s->collector.adaptive_from_ns / NS_PER_MS;

    if (least_ms > 0)
        return append(&c->env, count, "MAILROOM_BATCH_TIMEOUT=auto:%lld..%lld", least_ms, most_ms);
    return append(&c->env, count, "MAILROOM_BATCH_TIMEOUT=%lld", most_ms);
}

static bool make_env(struct command *c, const struct scenario *s, const char *conninfo)
{
    char hex[2 * COMMAND_KEY_LEN + 1];
    size_t count = 0;

    for (size_t i = 0; i < COMMAND_KEY_LEN; i++)
        snprintf(hex + 2 * i, 3, "%02x", c->key[i]);
    bool ok = copy_environment(c, &count) &&
              append(&c->env, &count, "MAILROOM_DATABASE_URL=%s", conninfo) &&
              append(&c->env, &count, "MAILROOM_SECRET_KEY=%s", hex) &&
              append(&c->env, &count, "MAILROOM_BATCH_LIMIT=%d", s->collector.batch_limit) &&
              add_window(c, s, &count);
    ok = ok && add_dequeue(c, s, &count) && add_healthcheck(c, s, &count);
    for (size_t i = 0; ok && i < s->collector.env.count; i++)
        ok = append(&c->env, &count, "%s=%s", s->collector.env.items[i].name,
            s->collector.env.items[i].value);
    return ok;
}

static void make_key(struct command *c, uint64_t seed)
{
    struct rng rng;

    rng_init(&rng, seed, KEY_STREAM);
    for (int i = 0; i < COMMAND_KEY_LEN; i += 8) {
        uint64_t word = rng_next(&rng);
        memcpy(c->key + i, &word, sizeof word);
    }
}

bool command_make(struct command *c, const struct scenario *s, const char *collector,
    const char *conninfo, struct err *e)
{
    *c = (struct command){0};
    make_key(c, s->seed);
    if (!make_argv(c, s, collector, e))
        return false;
    return make_env(c, s, conninfo) || err_memory(e);
}

// Adds the conninfo once more, as PGHOST and the other variables of libpq, which most clients know.
static bool add_libpq_env(struct command *c, const char *conninfo)
{
    PQconninfoOption *options = PQconninfoParse(conninfo, NULL);
    size_t count = 0;
    bool ok = options;

    while (c->env[count])
        count++;
    for (PQconninfoOption *o = options; ok && o->keyword; o++) {
        if (o->val && o->envvar)
            ok = append(&c->env, &count, "%s=%s", o->envvar, o->val);
    }
    PQconninfoFree(options);
    return ok;
}

bool command_make_of_subject(struct command *c, const struct scenario *s, char *const *argv,
    const char *conninfo, struct err *e)
{
    size_t count = 0;
    bool ok = true;

    *c = (struct command){0};
    make_key(c, s->seed);
    for (char *const *arg = argv; ok && *arg; arg++)
        ok = append(&c->argv, &count, "%s", *arg);
    return (ok && make_env(c, s, conninfo) && add_libpq_env(c, conninfo)) || err_memory(e);
}

static void free_list(char **list)
{
    for (char **item = list; item && *item; item++)
        free(*item);
    free(list);
}

void command_fini(struct command *c)
{
    free_list(c->argv);
    free_list(c->env);
    *c = (struct command){0};
}
