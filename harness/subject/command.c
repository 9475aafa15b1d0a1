#include "subject/command.h"

#include <libpq-fe.h>

#include "os/other_user.h"
#include "os/paths.h"
#include "os/process.h"
#include "os/command_line.h"
#include "plan/rng.h"
#include "scenario/suggest.h"

// The names of all settings of the reference collector begin like this.
static const char reference_prefix[] = "MAILROOM_";

#define KEY_STREAM 1000 // stream of random numbers that gives the key; the plan uses other streams

// True when the table that `mailroom-collector --settings` prints has a row with this name. Offers
// each name to `near`.
static bool table_has_setting(const char *table, const char *name, struct suggestion *near)
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

// Checks that the reference collector knows each MAILROOM_ setting of the scenario. The collector
// itself would only log an unknown name and ignore it.
static bool check_reference_settings(const char *program, const struct settings *env, struct err *e)
{
    const char *const argv[] = {program, "--settings", NULL};
    char table[16384] = "";

    for (size_t i = 0; i < env->count; i++) {
        const char *name = env->items[i].name;
        struct suggestion near;
        suggest_init(&near, name);
        if (strncmp(name, reference_prefix, sizeof reference_prefix - 1) != 0)
            continue;
        // The table comes from the collector that will run, so it fits that collector's version.
        // It is asked for once, and only if the scenario has such a setting; (uid_t)-1: as this
        // user.
        if (!*table && !process_run(argv, (uid_t)-1, 0, table, sizeof table, e))
            return false;
        if (!table_has_setting(table, name, &near))
            return err_set(e, ERR_USAGE,
                "collector.env: '%.100s' is not a setting of mailroom-collector%s", name,
                near.text);
    }
    return true;
}

// Chooses the program: --collector, else the scenario's command, else the reference collector.
static bool make_argv(
    struct command *c, const struct scenario *s, const char *collector, struct err *e)
{
    char path[PATH_MAX];
    size_t count = 0;

    // The reference collector, if --collector names it, or neither --collector nor the scenario
    // names any.
    if (collector ? strcmp(collector, COMMAND_REFERENCE) == 0 : !s->collector.command) {
        if (!path_sibling(path, "mailroom-collector", e))
            return false;
        if (!check_reference_settings(path, &s->collector.env, e))
            return false;
        command_line_add(&c->argv, &count, memory_copy(path));
    } else if (collector) {
        // Split into words without a shell, so that quotes, stars and dollars have no special
        // meaning.
        command_line_split(&c->argv, &count, collector);
    } else {
        for (char **arg = s->collector.command; *arg; arg++)
            command_line_add(&c->argv, &count, memory_copy(*arg));
    }
    return count > 0 || err_set(e, ERR_USAGE, "the collector's command names no program");
}

static void set_number_setting(struct command *c, const char *name, long long number)
{
    char text[32];

    snprintf(text, sizeof text, "%lld", number);
    child_env_set(&c->env, name, text);
}

// Sets MAILROOM_DEQUEUE to shared or leased. The cursor mode is the default and needs no variable,
// and a value that the scenario's environment sets is kept.
static void set_dequeue(struct command *c, const struct scenario *s)
{
    static const char name[] = "MAILROOM_DEQUEUE";
    static const char *const values[] = {[DEQUEUE_SHARED] = "shared", [DEQUEUE_LEASED] = "leased"};

    if (s->collector.dequeue != DEQUEUE_CURSOR && !settings_value(&s->collector.env, name))
        child_env_set(&c->env, name, values[s->collector.dequeue]);
}

// Sets a health-check interval only if the collector's default does not fit the batch timeout, and
// if the scenario's environment does not set it.
static void set_healthcheck(struct command *c, const struct scenario *s)
{
    static const char name[] = "MAILROOM_HEALTHCHECK_INTERVAL";
    int64_t ms = scenario_healthcheck_ms(s);

    if (ms != SCENARIO_HEALTHCHECK_MS && !settings_value(&s->collector.env, name))
        set_number_setting(c, name, ms);
}

// Sets the batch timeout: one value or, when the scenario has adaptive_from, a range.
static void set_batch_timeout(struct command *c, const struct scenario *s)
{
    static const char name[] = "MAILROOM_BATCH_TIMEOUT";
    long long longest_ms = s->collector.batch_timeout_ns / NS_PER_MS;
    long long shortest_ms = s->collector.adaptive_from_ns / NS_PER_MS;
    char text[80];

    snprintf(text, sizeof text, "auto:%lld..%lld", shortest_ms, longest_ms);
    if (shortest_ms > 0)
        child_env_set(&c->env, name, text);
    else
        set_number_setting(c, name, longest_ms);
}

// Sets PGHOST and libpq's other variables. Most PostgreSQL clients read them, so a client cannot
// reach another server by mistake.
static bool set_server(struct command *c, const char *conninfo, struct err *e)
{
    PQconninfoOption *options = PQconninfoParse(conninfo, NULL);
    // PQconninfoParse also tells which variable belongs to which option.
    bool ok = options || err_set(e, ERR_INTERNAL, "libpq does not read the run's conninfo");

    for (PQconninfoOption *o = options; ok && o->keyword; o++) {
        if (o->val && o->envvar)
            child_env_set(&c->env, o->envvar, o->val);
    }
    PQconninfoFree(options);
    return ok;
}

// Makes the complete environment. The harness's settings come last, so they replace those of the
// scenario; only set_dequeue and set_healthcheck leave a value of the scenario as it is.
static bool make_env(
    struct command *c, const struct scenario *s, const char *conninfo, struct err *e)
{
    char hex[2 * COMMAND_KEY_LEN + 1];
    struct other_user user;

    for (size_t i = 0; i < COMMAND_KEY_LEN; i++)
        snprintf(hex + 2 * i, 3, "%02x", c->key[i]);
    if (!other_user(&user, e))
        return false;
    child_env_init(&c->env);
    if (user.chosen)
        child_env_set(&c->env, "HOME", user.home);
    for (size_t i = 0; i < s->collector.env.count; i++) {
        const struct setting *setting = &s->collector.env.items[i];
        child_env_set(&c->env, setting->name, setting->value);
    }
    child_env_set(&c->env, "MAILROOM_DATABASE_URL", conninfo);
    child_env_set(&c->env, "MAILROOM_SECRET_KEY", hex);
    set_number_setting(c, "MAILROOM_BATCH_LIMIT", s->collector.batch_limit);
    set_batch_timeout(c, s);
    set_dequeue(c, s);
    set_healthcheck(c, s);
    return set_server(c, conninfo, e);
}

// Makes the signing key from the seed, so that it is the same in each run of the scenario.
static void make_key(struct command *c, uint64_t seed)
{
    struct rng rng;

    rng_init(&rng, seed, KEY_STREAM);
    for (int i = 0; i < COMMAND_KEY_LEN; i += 8) {
        uint64_t bytes = rng_next(&rng);
        memcpy(c->key + i, &bytes, sizeof bytes);
    }
}

bool command_make(struct command *c, const struct scenario *s, const char *collector,
    const char *conninfo, struct err *e)
{
    *c = (struct command){0};
    make_key(c, s->seed);
    if (!make_argv(c, s, collector, e))
        return false;
    return make_env(c, s, conninfo, e);
}

bool command_make_of_subject(struct command *c, const struct scenario *s, char *const *argv,
    const char *conninfo, struct err *e)
{
    size_t count = 0;

    *c = (struct command){0};
    make_key(c, s->seed);
    for (char *const *arg = argv; *arg; arg++)
        command_line_add(&c->argv, &count, memory_copy(*arg));
    return make_env(c, s, conninfo, e);
}

void command_fini(struct command *c)
{
    memory_free_texts(c->argv);
    child_env_fini(&c->env);
    *c = (struct command){0};
}
