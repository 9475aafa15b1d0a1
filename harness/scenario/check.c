#include "scenario/check.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "scenario/grammar.h"
#include "scenario/messages.h"
#include "scenario/trace.h"
#include "scenario/units.h"

#define PHASES_MAX 100  // a phase's number fits a byte in the plan
#define SETTING_MAX 255 // YAML reads no key beyond 1,024 characters without a '?'

static bool check_name(
    const struct scenario *s, const struct node *root, const char *path, struct err *e);
static bool check_postgres(const struct scenario *s, const struct node *root, struct err *e);
// Older scenarios set the mode by this variable, some of them with its older name.
static bool check_dequeue(struct scenario *s, const struct node *collector, struct err *e)
{
    static const struct {
        const char *value;
        enum dequeue dequeue;
    } values[] = {{"cursor", DEQUEUE_CURSOR}, {"shared", DEQUEUE_SHARED},
        {"skip-locked", DEQUEUE_SHARED}, {"leased", DEQUEUE_LEASED}};
    const struct node *env = collector ? node_child(collector, "env") : NULL;
    const struct node *n = env ? node_child(env, "MAILROOM_DEQUEUE") : NULL;
    const struct node *key = collector ? node_child(collector, "dequeue") : NULL;

    for (size_t i = 0; n && i < sizeof values / sizeof *values; i++) {
        if (strcmp(n->text, values[i].value) != 0)
            continue;
        if (key && values[i].dequeue != s->collector.dequeue)
            return node_err(
                n, e, "'%s' is not what collector.dequeue says: '%s'", n->text, key->text);
        s->collector.dequeue = values[i].dequeue;
    }
    return true;
}

static bool check_collector(struct scenario *s, const struct node *root, struct err *e);
static bool check_load(
    struct scenario *s, const struct node *load, const char *path, struct err *e);
static bool check_fault(const struct scenario *s, const struct node *root, struct fault_spec *fault,
    const struct node *n, struct err *e);
static bool check_network(const struct scenario *s, const struct node *root, struct err *e);

bool check_scenario(struct scenario *s, const struct node *root, const char *path, struct err *e)
{
    const struct node *faults = node_child(root, "faults");

    if (!check_name(s, root, path, e) || !check_postgres(s, root, e) ||
        !check_collector(s, root, e) || !check_load(s, node_child(root, "load"), path, e))
        return false;
    for (size_t i = 0; i < s->fault_count; i++)
        if (!check_fault(s, root, &s->faults[i], node_item(faults, i), e))
            return false;
    return check_network(s, root, e);
}

// Names become folders, accounts and columns of tables.
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

// A result folder keeps its scenario, with all that options made of it, under
// this name.
static bool is_kept(const char *path)
{
    const char *slash = strrchr(path, '/');

    return strcmp(slash ? slash + 1 : path, "scenario.yaml") == 0;
}

static bool check_name(
    const struct scenario *s, const struct node *root, const char *path, struct err *e)
{
    const struct node *n = node_child(root, "name");
    const struct node *tags = node_child(root, "tags");
    const char *slash = strrchr(path, '/');
    const char *file = slash ? slash + 1 : path;
    size_t len = strlen(s->name);

    if (!want_name(n, s->name, e))
        return false;
    for (size_t i = 0; s->tags[i]; i++)
        if (!want_name(node_item(tags, i), s->tags[i], e))
            return false;
    if (is_kept(path))
        return true;
    if (strncmp(file, s->name, len) != 0 || strcmp(file + len, ".yaml") != 0)
        return node_err(n, e, "'%s' should be the file's name without .yaml", s->name);
    return true;
}

static bool good_setting(const char *name, const char *further)
{
    for (const char *p = name; *p; p++)
        if (!isalnum((unsigned char)*p) && !strchr(further, *p))
            return false;
    return *name != '\0' && !isdigit((unsigned char)*name) && strlen(name) <= SETTING_MAX;
}

// True when the file itself names another provider than the local one. A provider that an
// option chose is no mistake in the file: only that run of the suite is skipped.
static bool says_elsewhere(const struct scenario *s, const struct node *root)
{
    const struct node *postgres = node_child(root, "postgres");
    const struct node *provider = postgres ? node_child(postgres, "provider") : NULL;

    return provider && !provider->origin.set && !is_kept(provider->origin.file) &&
           strcmp(s->postgres.provider, "local") != 0;
}

// True when the file itself, without options, uses no cluster.
static bool says_no_cluster(const struct scenario *s, const struct node *root)
{
    const struct node *postgres = node_child(root, "postgres");
    const struct node *provider = postgres ? node_child(postgres, "provider") : NULL;

    return strcmp(s->postgres.provider, "patroni") != 0 &&
           (!provider || (!provider->origin.set && !is_kept(provider->origin.file)));
}

// The migration that brings the bell; leased collectors do not know it.
#define BELL_SCHEMA 17

static bool check_announce(const struct scenario *s, const struct node *root, struct err *e)
{
    const struct node *postgres = node_child(root, "postgres");
    const struct node *key = postgres ? node_child(postgres, "announce") : NULL;
    int schema = s->postgres.schema;

    if (s->postgres.announce != ANNOUNCE_BELL)
        return true;
    if (schema != SCHEMA_LATEST && schema < BELL_SCHEMA)
        return node_err(key ? key : root, e, "announce: bell needs postgres.schema: 17 or later");
    if (s->collector.dequeue == DEQUEUE_LEASED)
        return node_err(key ? key : root, e, "leased collectors need announce: each");
    return true;
}

static bool check_postgres(const struct scenario *s, const struct node *root, struct err *e)
{
    const struct node *postgres = node_child(root, "postgres");
    const struct node *storage = postgres ? node_child(postgres, "storage") : NULL;

    const struct node *standby = postgres ? node_child(postgres, "standby") : NULL;

    const struct node *route = postgres ? node_child(postgres, "route") : NULL;
    const bool cluster = strcmp(s->postgres.provider, "patroni") == 0;

    if (s->postgres.standby != STANDBY_NONE && !cluster && says_elsewhere(s, root))
        return node_err(standby ? standby : root, e,
            "only provider: local and provider: patroni can have a standby");
    if (s->postgres.standby == STANDBY_NONE && cluster && says_elsewhere(s, root))
        return node_err(root, e, "provider: patroni needs postgres.standby: async or sync");
    if (s->postgres.route == ROUTE_PROXY && says_no_cluster(s, root))
        return node_err(route ? route : root, e, "route: proxy needs postgres.provider: patroni");
    if (s->postgres.storage == STORAGE_CRASHABLE && says_elsewhere(s, root))
        return node_err(storage ? storage : root, e, "only provider: local can be crashable");
    if (s->postgres.disk != DISK_HONEST && s->postgres.storage != STORAGE_CRASHABLE)
        return node_err(node_child(postgres, "disk"), e,
            "only with postgres.storage: crashable is the disk ours");
    const struct node *settings = postgres ? node_child(postgres, "settings") : NULL;

    for (size_t i = 0; i < s->postgres.settings.count; i++) {
        const struct setting *item = &s->postgres.settings.items[i];
        const struct node *n = node_item(settings, i);
        if (!good_setting(item->name, "_."))
            return node_key_err(n, e, "'%s' is no name of a server setting", item->name);
        if (strpbrk(item->value, "\r\n"))
            return node_err(n, e, "a server setting is one line");
    }
    return true;
}

// The harness sets these variables itself, from other keys of the scenario.
static const char *const own_variables[][2] = {
    {"MAILROOM_DATABASE_URL", "the harness's own server"},
    {"MAILROOM_SECRET_KEY", "a key that the harness knows"},
    {"MAILROOM_SECRET_KEY_FILE", "a key that the harness knows"},
    {"MAILROOM_BATCH_LIMIT", "collector.batch_limit"},
    {"MAILROOM_BATCH_TIMEOUT", "collector.batch_timeout"},
};

static bool check_variable(const struct setting *item, const struct node *n, struct err *e)
{
    if (!good_setting(item->name, "_"))
        return node_key_err(n, e, "'%s' is no name of an environment variable", item->name);
    for (size_t i = 0; i < sizeof own_variables / sizeof *own_variables; i++)
        if (strcmp(item->name, own_variables[i][0]) == 0)
            return node_key_err(n, e, "'%s' cannot be set here; it is made from %s", item->name,
                own_variables[i][1]);
    return true;
}

static bool check_collector(struct scenario *s, const struct node *root, struct err *e)
{
    const struct node *collector = node_child(root, "collector");
    const struct node *env = collector ? node_child(collector, "env") : NULL;

    for (size_t i = 0; i < s->collector.env.count; i++)
        if (!check_variable(&s->collector.env.items[i], node_item(env, i), e))
            return false;
    if (!check_dequeue(s, collector, e) || !check_announce(s, root, e))
        return false;
    if (!s->collector.command[0]) {
        free(s->collector.command);
        s->collector.command = NULL;
    }
    if (s->collector.command && s->collector.command[0][0] == '\0')
        return node_err(
            node_item(node_child(collector, "command"), 0), e, "the program's name is empty");
    if (s->collector.batch_timeout_ns % NS_PER_MS != 0)
        return node_err(
            node_child(collector, "batch_timeout"), e, "collectors count in whole milliseconds");
    if (s->collector.adaptive_from_ns % NS_PER_MS != 0 ||
        s->collector.adaptive_from_ns > s->collector.batch_timeout_ns)
        return node_err(node_child(collector, "adaptive_from"), e,
            "this is the lower bound of a window: whole milliseconds, at most batch_timeout");
    return true;
}

static bool name_phase(struct load_phase *phase, size_t index, struct err *e)
{
    char name[32];

    if (phase->name)
        return true;
    snprintf(name, sizeof name, "phase-%zu", index + 1);
    phase->name = strdup(name);
    return phase->name || err_set(e, ERR_SYSTEM, "out of memory");
}

static bool check_phase(const struct load_phase *phase, const struct node *n, struct err *e)
{
    double shares = phase->recovery + phase->ineligible + phase->unsendable;

    // Ten shares of 0.1 add up to a little more than 1 in floating point.
    if (shares > 1 + 1e-9)
        return node_err(n, e,
            "recovery, ineligible and unsendable are shares of the same tokens; "
            "together they should not exceed 1");
    double changes =
        phase->consume + phase->suspend + phase->reactivate + phase->expire + phase->delete;
    if (changes > 1 + 1e-9)
        return node_err(node_child(n, "changes"), e,
            "these are shares of the same tokens; together they should not exceed 1");
    if (phase->hold_share > 0 && phase->hold_for_ns == 0)
        return node_err(node_child(n, "hold_open"), e, "'for' should be longer than 0s");
    return true;
}

// A rate, or recorded times; a closed loop has neither.
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
        return node_key_err(arrivals, e, "'arrivals' says nothing at rate: max, a closed loop");
    if (phase->arrivals != ARRIVALS_TRACE)
        return true;
    if (rate)
        return node_key_err(rate, e, "'rate' says nothing at arrivals: trace; the file has it");
    if (!file)
        return node_err(n, e, "'file' is missing: the recorded times, one per line");
    struct err why;
    return trace_read(phase, path, &why) || node_err(file, e, "%s", why.text);
}

static bool check_load(struct scenario *s, const struct node *load, const char *path, struct err *e)
{
    if (s->load_count == 0)
        return node_err(load, e, "there should be at least one phase");
    if (s->load_count > PHASES_MAX)
        return node_err(load, e, "there should be at most %d phases", PHASES_MAX);
    for (size_t i = 0; i < s->load_count; i++) {
        const struct node *n = node_item(load, i);
        if (!name_phase(&s->load[i], i, e) || !check_phase(&s->load[i], n, e) ||
            !check_arrivals(&s->load[i], n, path, e))
            return false;
        if (i > 0 && s->load[i].backlog > 0)
            return node_key_err(node_child(n, "backlog"), e,
                "only the first phase can have a backlog: the collector starts before the second");
        const struct node *name = node_child(n, "name");
        if (!want_name(name ? name : n, s->load[i].name, e))
            return false;
        for (size_t j = 0; j < i; j++)
            if (strcmp(s->load[j].name, s->load[i].name) == 0)
                return node_err(
                    name ? name : n, e, "phase %zu is called '%s' too", j, s->load[j].name);
    }
    return true;
}

// Checks that the verb takes the given parameters and that none is missing.
static bool check_params(const struct fault_spec *fault, const struct node *n, struct err *e)
{
    for (size_t i = 0; i < fault_table.count; i++) {
        const struct field *f = &fault_table.fields[i];
        const struct node *given = node_child(n, f->key);
        if (!f->param || f->any_verb)
            continue;
        if (given && !(fault->verb->params & f->param))
            return node_key_err(given, e, "%s takes no '%s'%s", fault->verb->name, f->key,
                f->param == PARAM_THROUGH ? "; partition and half-open do" : "");
        if (!given && f->needed && (fault->verb->params & f->param))
            return node_err(n, e, "'%s' is missing: %s needs it", f->key, fault->verb->name);
    }
    if ((fault->verb->params & PARAM_NEEDS_FOR) && fault->for_ns == 0)
        return node_err(n, e, "'for' is missing: how long %s lasts", fault->verb->name);
    return true;
}

// Checks how long a collector that a fault ended stays away.
static bool check_rest(
    const struct scenario *s, const struct fault_spec *fault, const struct node *n, struct err *e)
{
    const struct node *length = node_child(n, "for");

    if (fault->for_ns == FOR_REST && !(fault->verb->params & PARAM_REST))
        return node_err(length, e,
            "only kill-collector and stop-collector last for the rest; write how long %s lasts, "
            "such as 2s",
            fault->verb->name);
    if (fault->for_ns == FOR_REST && fault->every_ns > 0)
        return node_err(length, e, "what is away for the rest cannot be ended every so often");
    if (fault->for_ns > 0 && (fault->verb->params & PARAM_REST) && !s->collector.restart)
        return node_err(length, e,
            "with collector.restart off nothing starts it again; write rest, or leave 'for' out");
    return true;
}

// Checks the jitter of a repeated fault, which delays each time by up to that much.
static bool check_jitter(const struct fault_spec *fault, const struct node *n, struct err *e)
{
    const struct node *jitter = node_child(n, "jitter");
    int64_t lasts_ns = fault->for_ns > 0 ? fault->for_ns : 0;

    if (!jitter || (fault->verb->params & PARAM_JITTER))
        return true;
    if (fault->every_ns == 0)
        return node_key_err(jitter, e, "'jitter' says nothing without 'every'");
    return fault->jitter_ns + lasts_ns <= fault->every_ns ||
           node_err(jitter, e,
               "'%s'%s should not be longer than 'every', so that no time passes the next",
               jitter->text, lasts_ns ? " and 'for' together" : "");
}

static bool check_message(const struct fault_spec *fault, const struct node *n, struct err *e)
{
    struct message_kind kind;

    return !fault->message || message_kind_parse(fault->message, &kind, e) ||
           node_err_here(node_child(n, "message"), e);
}

static bool after_load(const struct node *n, int64_t load_ns, struct err *e)
{
    struct buf text;

    buf_init(&text, 64);
    units_print_duration(&text, load_ns);
    const char *length = buf_str(&text);
    node_err(n, e, "'%s' lies after the end of the load, which lasts %s", n->text,
        length ? length : "less");
    buf_fini(&text);
    return false;
}

static bool check_fault(const struct scenario *s, const struct node *root, struct fault_spec *fault,
    const struct node *n, struct err *e)
{
    int64_t load_ns = scenario_load_ns(s);
    const struct node *until = node_child(n, "until");

    if (!check_params(fault, n, e) || !check_message(fault, n, e))
        return false;
    if (fault->verb->needs_disk && s->postgres.storage != STORAGE_CRASHABLE)
        return node_err(
            node_child(n, "do"), e, "%s needs postgres.storage: crashable", fault->verb->name);
    if (fault->verb->on_sender && s->collector.dequeue != DEQUEUE_LEASED)
        return node_err(
            node_child(n, "do"), e, "%s needs collector.dequeue: leased", fault->verb->name);
    if (fault->verb->id == VERB_PROMOTE_STANDBY && s->postgres.standby == STANDBY_NONE)
        return node_err(
            node_child(n, "do"), e, "promote-standby needs postgres.standby: async or sync");
    if (fault->verb->needs_cluster && says_no_cluster(s, root))
        return node_err(
            node_child(n, "do"), e, "%s needs postgres.provider: patroni", fault->verb->name);
    if (fault->at_ns > load_ns)
        return after_load(node_child(n, "at"), load_ns, e);
    if (until && fault->every_ns == 0)
        return node_key_err(until, e, "'until' says nothing without 'every'");
    if (until && fault->until_ns > load_ns)
        return after_load(until, load_ns, e);
    if (until && fault->until_ns < fault->at_ns)
        return node_err(until, e, "'%s' lies before 'at'", until->text);
    if (fault->every_ns > 0 && !until)
        fault->until_ns = load_ns;
    if (fault->every_ns > 0 && fault->for_ns > fault->every_ns)
        return node_err(node_child(n, "for"), e,
            "'%s' should not be longer than 'every', so that one is over before the next",
            node_child(n, "for")->text);
    if (!check_rest(s, fault, n, e) || !check_jitter(fault, n, e))
        return false;
    if (fault->instance >= s->collector.instances)
        return node_err(node_child(n, "instance"), e,
            "there is no instance %d; collector.instances is %d, and they are counted from 0",
            fault->instance, s->collector.instances);
    return true;
}

// Checks that all network faults use the same means: a connection passes either the proxy or
// the two namespaces.
static bool check_network(const struct scenario *s, const struct node *root, struct err *e)
{
    const struct node *faults = node_child(root, "faults");
    const struct fault_spec *first = NULL;

    for (size_t i = 0; i < s->fault_count; i++) {
        const struct fault_spec *fault = &s->faults[i];
        const struct node *n = node_item(faults, i), *through = node_child(n, "through");
        if (!fault->verb->on_network)
            continue;
        if (first && first->through != fault->through)
            return node_err(n, e,
                "%s would go through the %s and %s before it through the %s; in one scenario all "
                "go the same way",
                fault->verb->name, fault_through_name(fault->through), first->verb->name,
                fault_through_name(first->through));
        first = fault;
        if (fault->through != THROUGH_KERNEL)
            continue;
        if (fault->reset)
            return node_key_err(node_child(n, "reset"), e,
                "the kernel drops what it withholds, and never resets; leave 'reset' out");
        if (says_elsewhere(s, root))
            return node_err(through, e, "through: kernel needs postgres.provider: local");
    }
    return true;
}
