#include "scenario/rules.h"

#include <ctype.h>

#include "os/paths.h"
#include "scenario/grammar.h"
#include "scenario/metric.h"
#include "scenario/trace.h"

#define PHASES_MAX 100  // because a phase's number is one byte in the plan
#define SETTING_MAX 255 // well below 1,024 bytes, the most that a YAML key without a '?' may have

static bool check_name(
    const struct scenario *s, const struct node *root, const char *path, struct err *e);
static bool check_postgres(const struct scenario *s, const struct node *root, struct err *e);
static bool check_collector(struct scenario *s, const struct node *root, struct err *e);
static bool check_load(
    struct scenario *s, const struct node *load, const char *path, struct err *e);

// True for a table and a column with one dot between them.
static bool is_column(const char *name)
{
    const char *dot = strchr(name, '.');

    return dot && dot != name && dot[1] &&
           strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789_.") == strlen(name) &&
           !strchr(dot + 1, '.');
}

static bool check_writes(const struct scenario *s, const struct node *collector, struct err *e)
{
    for (size_t i = 0; s->collector.writes[i]; i++) {
        if (!is_column(s->collector.writes[i]))
            return node_err(node_item(node_child(collector, "writes"), i), e,
                "'%.100s' should be a table and a column, such as tokens.consumed_at",
                s->collector.writes[i]);
    }
    return true;
}

static bool check_counterparts(const struct scenario *s, const struct node *list, struct err *e)
{
    for (size_t i = 0; i < s->counterpart_count; i++) {
        const struct counterpart *c = &s->counterparts[i];
        const struct node *n = node_item(list, i);
        const struct node *sets = node_child(n, "set"), *breaks = node_child(n, "breaks");
        if (!c->collector && !c->sets[0])
            return node_err(n, e, "'collector' or 'set' should say what must fail");
        for (size_t j = 0; c->sets[j]; j++)
            // Checks only the form. Whether the key exists shows when somebody runs the
            // counterpart.
            if (!strchr(c->sets[j], '='))
                return node_err(
                    node_item(sets, j), e, "'%.100s' should be key.path=value", c->sets[j]);
        if (!c->breaks[0])
            return node_err(breaks, e, "there should be at least one metric");
        // Objectives can be missed, too, so any metric is allowed, not only invariants.
        for (size_t j = 0; c->breaks[j]; j++)
            if (!metric_named(c->breaks[j], false, e))
                return node_err_here(node_item(breaks, j), e);
    }
    return true;
}

bool check_scenario(struct scenario *s, const struct node *root, const char *path, struct err *e)
{
    return check_name(s, root, path, e) && check_postgres(s, root, e) &&
           check_collector(s, root, e) && check_load(s, node_child(root, "load"), path, e) &&
           check_faults(s, root, e) && check_counterparts(s, node_child(root, "counterparts"), e);
}

// True for a name that a scenario, a phase or a tag may have. It becomes a part of the names of
// folders, accounts and columns.
static bool good_name(const char *name)
{
    for (const char *p = name; *p; p++)
        if (!islower((unsigned char)*p) && !isdigit((unsigned char)*p) && *p != '-')
            return false;
    return isalnum((unsigned char)*name) && strlen(name) <= 64;
}

static bool want_name(const struct node *n, const char *name, struct err *e)
{
    return good_name(name) ||
           node_err(n, e, "'%s' should be at most 64 small letters, digits and '-'", name);
}

bool is_result_scenario(const char *path)
{
    return strcmp(path_name(path), "scenario.yaml") == 0;
}

static bool check_name(
    const struct scenario *s, const struct node *root, const char *path, struct err *e)
{
    const struct node *n = node_child(root, "name");
    const struct node *tags = node_child(root, "tags");
    const char *file = path_name(path);
    size_t len = strlen(s->name);

    if (!want_name(n, s->name, e))
        return false;
    for (size_t i = 0; s->tags[i]; i++)
        if (!want_name(node_item(tags, i), s->tags[i], e))
            return false;
    return is_result_scenario(path) ||
           (strncmp(file, s->name, len) == 0 && strcmp(file + len, ".yaml") == 0) ||
           node_err(n, e, "'%s' should be the file's name without .yaml", s->name);
}

// True for a name of letters, digits and `signs` that does not begin with a digit, is not empty and
// not longer than SETTING_MAX.
static bool is_setting_name(const char *name, const char *signs)
{
    for (const char *p = name; *p; p++)
        if (!isalnum((unsigned char)*p) && !strchr(signs, *p))
            return false;
    return *name != '\0' && !isdigit((unsigned char)*name) && strlen(name) <= SETTING_MAX;
}

// False when an option may have chosen the provider: an option of this command, or of the earlier
// run that wrote this scenario.yaml.
static bool is_authors_choice(const struct node *provider)
{
    return !provider->origin.set && !is_result_scenario(provider->origin.file);
}

bool file_names_other_provider(const struct scenario *s, const struct node *root)
{
    const struct node *provider = node_child(node_child(root, "postgres"), "provider");

    return provider && is_authors_choice(provider) && strcmp(s->postgres.provider, "local") != 0;
}

bool file_names_no_cluster(const struct scenario *s, const struct node *root)
{
    const struct node *provider = node_child(node_child(root, "postgres"), "provider");

    return strcmp(s->postgres.provider, "patroni") != 0 && !s->postgres.rest &&
           (!provider || is_authors_choice(provider));
}

// The number of the migration that adds the bell, a lock by which sleeping collectors ask for
// announcements. Leased collectors do not use it.
#define BELL_SCHEMA 17

static bool check_announce(const struct scenario *s, const struct node *root, struct err *e)
{
    const struct node *key = node_child(node_child(root, "postgres"), "announce");
    int schema = s->postgres.schema;

    if (s->postgres.announce != ANNOUNCE_BELL)
        return true;
    if (schema != SCHEMA_LATEST && schema < BELL_SCHEMA)
        return node_err(
            key ? key : root, e, "announce: bell needs postgres.schema: %d or later", BELL_SCHEMA);
    if (s->collector.dequeue == DEQUEUE_LEASED)
        return node_err(key ? key : root, e, "leased collectors need announce: each");
    return true;
}

static bool check_postgres_settings(
    const struct scenario *s, const struct node *settings, struct err *e)
{
    if (s->postgres.settings.count > SERVER_SETTINGS_MAX)
        return node_err(settings, e, "at most %d server settings are allowed", SERVER_SETTINGS_MAX);
    for (size_t i = 0; i < s->postgres.settings.count; i++) {
        const struct setting *item = &s->postgres.settings.items[i];
        const struct node *n = node_item(settings, i);
        if (!is_setting_name(item->name, "_."))
            return node_key_err(n, e, "'%s' is not the name of a server setting", item->name);
        if (strpbrk(item->value, "\r\n"))
            return node_err(n, e, "a server setting is one line");
        // The 2 are the '=' and the final 0.
        if (strlen(item->name) + strlen(item->value) + 2 > SERVER_SETTING_SIZE)
            return node_err(n, e, "with its name a server setting has at most %d bytes",
                SERVER_SETTING_SIZE - 2);
    }
    return true;
}

static bool check_postgres(const struct scenario *s, const struct node *root, struct err *e)
{
    const struct node *postgres = node_child(root, "postgres");
    const struct node *storage = node_child(postgres, "storage");
    const struct node *standby = node_child(postgres, "standby");
    const struct node *route = node_child(postgres, "route");
    const bool patroni = strcmp(s->postgres.provider, "patroni") == 0;
    const bool own_cluster = s->postgres.rest; // a cluster of the user's, with REST addresses

    // Only what the file itself says is a mistake in it. When an option has chosen the provider,
    // the run is skipped later, with the reason.
    if (s->postgres.standby != STANDBY_NONE && !patroni && !own_cluster &&
        file_names_other_provider(s, root))
        return node_err(standby ? standby : root, e,
            "only provider: local and provider: patroni can have a standby");
    if (s->postgres.standby == STANDBY_NONE && patroni && file_names_other_provider(s, root))
        return node_err(root, e, "provider: patroni needs postgres.standby: async or sync");
    if (s->postgres.route == ROUTE_PROXY && file_names_no_cluster(s, root))
        return node_err(route ? route : root, e, "route: proxy needs postgres.provider: patroni");
    if (s->postgres.storage == STORAGE_CRASHABLE && file_names_other_provider(s, root))
        return node_err(storage ? storage : root, e, "only provider: local can be crashable");
    if (s->postgres.disk != DISK_HONEST && s->postgres.storage != STORAGE_CRASHABLE)
        return node_err(node_child(postgres, "disk"), e, "this needs postgres.storage: crashable");
    if (s->postgres.files != FILES_EXT4 && s->postgres.storage != STORAGE_CRASHABLE)
        return node_err(
            node_child(postgres, "filesystem"), e, "this needs postgres.storage: crashable");
    if (s->postgres.files == FILES_XFS && s->postgres.disk == DISK_UNASKED)
        return node_err(node_child(postgres, "disk"), e, "xfs cannot be mounted without barriers");
    return check_postgres_settings(s, node_child(postgres, "settings"), e);
}

// The variables that a scenario may not set, and why.
static const char *const refused_variables[][2] = {
    {"MAILROOM_DATABASE_URL", "it is made from the harness's own server"},
    {"MAILROOM_SECRET_KEY", "it is made from a key that the harness knows"},
    {"MAILROOM_SECRET_KEY_FILE", "it is made from a key that the harness knows"},
    {"MAILROOM_BATCH_LIMIT", "it is made from collector.batch_limit"},
    {"MAILROOM_BATCH_TIMEOUT", "it is made from collector.batch_timeout"},
    {"MAILROOM_DAILY", "what waits for tomorrow would count as lost; use MAILROOM_BUDGET"},
};

static bool check_variable(const struct setting *item, const struct node *n, struct err *e)
{
    if (!is_setting_name(item->name, "_"))
        return node_key_err(n, e, "'%s' is not the name of an environment variable", item->name);
    for (size_t i = 0; i < sizeof refused_variables / sizeof *refused_variables; i++)
        if (strcmp(item->name, refused_variables[i][0]) == 0)
            return node_key_err(
                n, e, "'%s' cannot be set here; %s", item->name, refused_variables[i][1]);
    return true;
}

// Takes the mode from MAILROOM_DEQUEUE, by which older scenarios set it; skip-locked is an older
// name of shared. Fails when collector.dequeue says something else. A value that is no mode is left
// to the collector, which refuses it.
static bool check_dequeue(struct scenario *s, const struct node *collector, struct err *e)
{
    const struct node *n = node_child(node_child(collector, "env"), "MAILROOM_DEQUEUE");
    const struct node *key = node_child(collector, "dequeue");

    if (!n)
        return true;
    const bool is_older = strcmp(n->text, "skip-locked") == 0;
    const struct word *mode = word_find(dequeue_words, is_older ? "shared" : n->text);
    if (mode && key && (enum dequeue)mode->value != s->collector.dequeue)
        return node_err(n, e, "'%s' is not what collector.dequeue says: '%s'", n->text, key->text);
    if (mode)
        s->collector.dequeue = (enum dequeue)mode->value;
    return true;
}

// Refuses sender.dies for a queue: it has no sender but the handlers of its jobs, and a handler
// cannot die without the consumer in which it runs. A leased scenario may have the key, because it
// is skipped for queues anyway: they promise no outcome (needs.c).
static bool check_sender(const struct scenario *s, const struct node *collector, struct err *e)
{
    if (s->collector.sender.dies == 0 || !scenario_is_queue(s) ||
        s->collector.dequeue == DEQUEUE_LEASED)
        return true;
    return node_err(node_child(node_child(collector, "sender"), "dies"), e,
        "a queue's handlers end with its consumer; write a fault such as kill-collector");
}

// Checks that a bound is at most recovery_limit: a longer one would excuse more than the scenario
// allows.
static bool check_bound(const struct scenario *s, const struct node *collector, const char *key,
    int64_t bound_ns, struct err *e)
{
    return bound_ns <= s->recovery_limit_ns ||
           node_err(node_child(collector, key), e,
               "this is longer than recovery_limit; shorten it, or raise that limit");
}

static bool check_collector(struct scenario *s, const struct node *root, struct err *e)
{
    const struct node *collector = node_child(root, "collector");
    const struct node *env = node_child(collector, "env");

    for (size_t i = 0; i < s->collector.env.count; i++)
        if (!check_variable(&s->collector.env.items[i], node_item(env, i), e))
            return false;
    if (!check_dequeue(s, collector, e) || !check_announce(s, root, e) ||
        !check_writes(s, collector, e) || !check_sender(s, collector, e))
        return false;
    // An empty list means that there is no command, so `command` is NULL from here on.
    if (!s->collector.command[0]) {
        free(s->collector.command);
        s->collector.command = NULL;
    }
    if (s->collector.command && s->collector.command[0][0] == '\0')
        return node_err(
            node_item(node_child(collector, "command"), 0), e, "the program's name is empty");
    // MAILROOM_BATCH_TIMEOUT is in whole milliseconds, so without the fraction the collector would
    // have another timeout than the one by which it is judged.
    if (s->collector.batch_timeout_ns % NS_PER_MS != 0)
        return node_err(
            node_child(collector, "batch_timeout"), e, "collectors count in whole milliseconds");
    if (s->collector.adaptive_from_ns % NS_PER_MS != 0 ||
        s->collector.adaptive_from_ns > s->collector.batch_timeout_ns)
        return node_err(node_child(collector, "adaptive_from"), e,
            "this is the lower bound of a window: whole milliseconds, at most batch_timeout");
    return check_bound(s, collector, "returns_within", s->collector.returns_within_ns, e) &&
           check_bound(s, collector, "starts_within", s->collector.starts_within_ns, e);
}

// Checks that shares of the same tokens do not exceed the whole, and that transactions which stay
// open do so for some time.
static bool check_load_phase(const struct load_phase *phase, const struct node *n, struct err *e)
{
    double shares = phase->recovery + phase->ineligible + phase->unsendable;

    // In floating point, shares that add up to 1 can come to a little more, as 0.33, 0.56 and 0.11
    // do.
    if (shares > 1 + 1e-9)
        return node_err(n, e,
            "recovery, ineligible and unsendable are shares of the same tokens; "
            "together they should not exceed 1");
    double changes = phase->consume + phase->suspend + phase->reactivate + phase->expire +
                     phase->delete + phase->email + phase->login;
    if (changes > 1 + 1e-9)
        return node_err(node_child(n, "changes"), e,
            "these are shares of the same tokens; together they should not exceed 1");
    if (phase->hold_share > 0 && phase->hold_for_ns == 0)
        return node_err(node_child(n, "hold_open"), e, "'for' should be longer than 0s");
    return true;
}

// Checks that a phase has either a rate or recorded times, and that a closed loop sets no arrivals.
static bool check_arrivals(
    struct load_phase *phase, const struct node *n, const char *path, struct err *e)
{
    const struct node *rate = node_child(n, "rate"), *file = node_child(n, "file");
    const struct node *arrivals = node_child(n, "arrivals");

    if (phase->arrivals != ARRIVALS_TRACE && file)
        return node_key_err(file, e, "'file' belongs to arrivals: trace");
    if (phase->arrivals != ARRIVALS_TRACE && !rate)
        return node_err(n, e, "'rate' is missing: intended tokens per second, such as 200/s");
    if (phase->closed && arrivals)
        return node_key_err(arrivals, e, "'arrivals' has no effect with rate: max, a closed loop");
    if (phase->arrivals != ARRIVALS_TRACE)
        return true;
    if (rate)
        return node_key_err(
            rate, e, "'rate' has no effect with arrivals: trace; the file gives the times");
    if (!file)
        return node_err(n, e, "'file' is missing: the recorded times, one per line");
    return trace_read(phase, path, e) || node_err_here(file, e);
}

static bool check_load(struct scenario *s, const struct node *load, const char *path, struct err *e)
{
    if (s->load_count == 0)
        return node_err(load, e, "there should be at least one phase");
    if (s->load_count > PHASES_MAX)
        return node_err(load, e, "there should be at most %d phases", PHASES_MAX);
    for (size_t i = 0; i < s->load_count; i++) {
        const struct node *n = node_item(load, i);
        if (!s->load[i].name)
            s->load[i].name = memory_format("phase-%zu", i + 1);
        // A run stores its scenario after --scale, and the file can be read only within its limits.
        if (s->load[i].for_ns > PHASE_NS_MAX)
            return node_err(
                node_child(n, "for"), e, "with --scale this is longer than 24h, the longest phase");
        if (s->load[i].backlog > BACKLOG_MAX)
            return node_err(
                node_child(n, "backlog"), e, "with --scale this is more than %d", BACKLOG_MAX);
        if (!check_load_phase(&s->load[i], n, e) || !check_arrivals(&s->load[i], n, path, e))
            return false;
        if (i > 0 && s->load[i].backlog > 0)
            return node_key_err(node_child(n, "backlog"), e,
                "only the first phase can have a backlog: the collector starts before the second");
        if (i > 0 && s->load[i].ids_from > 1)
            return node_key_err(node_child(n, "ids_from"), e,
                "only the first phase can say where ids begin: the next one goes on from there");
        const struct node *name = node_child(n, "name");
        if (!want_name(name ? name : n, s->load[i].name, e))
            return false;
        // Reports identify a phase by its name, so no two phases may have the same.
        for (size_t j = 0; j < i; j++)
            if (strcmp(s->load[j].name, s->load[i].name) == 0)
                return node_err(
                    name ? name : n, e, "phase %zu is called '%s' too", j, s->load[j].name);
    }
    return true;
}
