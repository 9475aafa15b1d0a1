#include "compare/compare.h"

#include "os/paths.h"
#include "report/files/environment.h"
#include "report/gather.h"
#include "scenario/parse.h"
#include "scenario/scenario.h"

#define TEXT_MAX (4u << 20)
#define DIFFERENCES_SHOWN 6 // greatest number of differences that are shown; nobody would read more

// Keys that may differ, as may all keys below them: the collector, which is compared; the place of
// the run; what does not change a run (tags only choose which scenarios a command runs); and the
// seed, because runs with several seeds are compared, too (put_seeds tells them).
static const char *const may_differ[] = {
    "seed", "summary", "tags", "collector.command", "postgres.provider", "postgres.image"};

// --- a scenario as keys and values ------------------------------------------------------

struct entry {
    char *key, *value; // owned
};

struct entries {
    struct entry *items; // owned
    size_t count;
};

// True when the key must be the same on both sides.
static bool is_compared(const char *key)
{
    for (size_t i = 0; i < sizeof may_differ / sizeof *may_differ; i++) {
        size_t len = strlen(may_differ[i]);
        if (strncmp(key, may_differ[i], len) == 0 && (key[len] == '\0' || key[len] == '.'))
            return false;
    }
    return true;
}

// Adds a key with its value, if both sides must have the same.
static void add_setting(struct entries *all, const char *key, const char *value)
{
    if (!is_compared(key))
        return;
    memory_grow(&all->items, all->count, 1, sizeof *all->items);
    all->items[all->count++] = (struct entry){memory_copy(key), memory_copy(value)};
}

static void free_entries(struct entries *all)
{
    for (size_t i = 0; i < all->count; i++) {
        free(all->items[i].key);
        free(all->items[i].value);
    }
    free(all->items);
}

// Adds the leaves of a node, whose path so far is `key`. The path of a leaf is its key, such as
// load.0.rate, so a message can name what differs. An empty list or map has no leaf, so it counts
// as an absent key.
static void flatten_node(const struct node *n, const char *key, struct entries *all)
{
    const char *dot = *key ? "." : "";
    size_t index = 0;

    if (n->kind == NODE_SCALAR)
        add_setting(all, key, n->text);
    for (const struct node *child = n->first; child; child = child->next, index++) {
        char *path FREED_BY(memory_free) = child->key
                                               ? memory_format("%s%s%s", key, dot, child->key)
                                               : memory_format("%s%s%zu", key, dot, index);
        flatten_node(child, path, all);
    }
}

static int by_key(const void *a, const void *b)
{
    return strcmp(((const struct entry *)a)->key, ((const struct entry *)b)->key);
}

// Returns the settings of a scenario, sorted by key; none when the text is not YAML.
static struct entries read_entries(const char *text, size_t len)
{
    static const struct origin nowhere = {.file = "scenario.yaml"};
    struct entries all = {0};
    struct node *root;
    struct err ignored;

    if (parse_yaml(&root, text, len, &nowhere, &ignored))
        flatten_node(root, "", &all);
    node_free(root);
    if (all.count > 1)
        qsort(all.items, all.count, sizeof *all.items, by_key);
    return all;
}

size_t setup_differences(
    const char *base, size_t base_len, const char *new, size_t new_len, struct buf *out)
{
    struct entries a FREED_BY(free_entries) = read_entries(base, base_len);
    struct entries b FREED_BY(free_entries) = read_entries(new, new_len);
    size_t i = 0, j = 0, found = 0;

    while (i < a.count || j < b.count) {
        // Both lists are sorted by key, so one pass finds the keys that only one of them has.
        // `order` is negative for a key that only a has, positive for one that only b has, and 0
        // for a key of both.
        int order = i == a.count ? 1 : j == b.count ? -1 : strcmp(a.items[i].key, b.items[j].key);
        const struct entry *in_a = order <= 0 ? &a.items[i] : NULL;
        const struct entry *in_b = order >= 0 ? &b.items[j] : NULL;
        const struct entry *either = in_a ? in_a : in_b;
        assert(either);
        bool differs = !in_a || !in_b || strcmp(in_a->value, in_b->value) != 0;
        found += differs;
        if (differs && found <= DIFFERENCES_SHOWN)
            buf_printf(out, "%s%s: %s in base, %s in new", found > 1 ? "; " : "", either->key,
                in_a ? in_a->value : "not there", in_b ? in_b->value : "not there");
        i += order <= 0;
        j += order >= 0;
    }
    if (found > DIFFERENCES_SHOWN)
        buf_printf(out, "; and %zu more", found - DIFFERENCES_SHOWN);
    return found;
}

// --- what may not differ ----------------------------------------------------------------

// Resolves the scenario again by this version, so that keys unknown to an older version have
// their defaults.
static bool resolve_scenario(const char *folder, struct buf *out, struct err *e)
{
    const struct overrides none = {0};
    struct scenario s FREED_BY(scenario_fini) = {0};
    char path[PATH_MAX];
    return path_join(path, folder, "scenario.yaml", e) && scenario_load(&s, path, &none, e) &&
           scenario_write(&s, out, e);
}

// False when the two runs were judged by different rules, or were made in different modes, such as
// an ordinary run and --every-cut.
static bool same_rules(const struct stored *first, const struct stored *run, struct err *e)
{
    // Two versions of the rules may judge the same collector differently.
    if (first->rules != run->rules)
        return err_set(e, ERR_USAGE,
            "compare: %s: %.400s was judged by rules %d, %.400s by rules %d; run the older again",
            run->scenario, first->folder, first->rules, run->folder, run->rules);
    return strcmp(first->mode, run->mode) == 0 ||
           err_set(e, ERR_USAGE, "compare: %s: %.400s is %s, %.400s is %s", run->scenario,
               first->folder, *first->mode ? first->mode : "an ordinary run", run->folder,
               *run->mode ? run->mode : "an ordinary run");
}

// False with ERR_USAGE when the run has another resolved scenario than `first`, beyond the keys
// that may differ.
static bool same_scenario(const struct buf *first, const struct stored *run, struct err *e)
{
    struct buf text FREED_BY(buf_fini) = BUF_INIT(TEXT_MAX);
    struct buf differences FREED_BY(buf_fini) = BUF_INIT(TEXT_MAX);

    // The command line may have changed the scenario; the folder holds it as it was run.
    bool ok = resolve_scenario(run->folder, &text, e);
    if (ok && setup_differences(first->data, first->len, text.data, text.len, &differences) > 0)
        ok = err_set(e, ERR_USAGE, "compare: %s: not the same scenario: %s", run->scenario,
            buf_str(&differences) ? differences.data : "");
    return ok;
}

bool setup_check(const struct side *base, const struct side *new, struct err *e)
{
    const struct side *const sides[] = {base, new};
    struct buf first FREED_BY(buf_fini) = BUF_INIT(TEXT_MAX);

    assert(base->count > 0);
    bool ok = resolve_scenario(base->runs[0].folder, &first, e);
    for (size_t k = 0; ok && k < 2; k++) {
        for (size_t i = 0; ok && i < sides[k]->count; i++)
            ok = same_rules(&base->runs[0], &sides[k]->runs[i], e) &&
                 same_scenario(&first, &sides[k]->runs[i], e);
    }
    return ok;
}

// --- what may differ and is reported ---------------------------------------------------

static void note_difference(
    struct comparison *c, const char *what, const char *base, const char *new)
{
    if (strcmp(base, new) != 0 && c->note_count < COMPARED_NOTES)
        snprintf(c->notes[c->note_count++], sizeof c->notes[0], "different %s: %s in %s, %s in %s",
            what, base, c->base->name, new, c->new->name);
}

static void put_machine(const struct environment *v, char *text, size_t size)
{
    snprintf(text, size, "%.80s, %d %s, %d MiB, %.60s", v->machine, v->cpus,
        NOUN(v->cpus, "processor", "processors"), v->memory_mb, v->kernel);
}

static void put_server(const struct environment *v, char *text, size_t size)
{
    snprintf(text, size, "PostgreSQL %d.%d on %s, %.120s", v->postgres_version / 10000,
        v->postgres_version % 10000, *v->proof.filesystem ? v->proof.filesystem : "another machine",
        v->proof.settings);
}

static void put_mailproof_version(const struct environment *v, char *text, size_t size)
{
    snprintf(text, size, "%s (%s)", v->mailproof, v->commit);
}

// Lists the seeds, each once, in the order of the runs. Stops when there may be no room for one
// more, which takes up to 24 bytes.
static void put_seeds(const struct side *s, char *text, size_t size)
{
    size_t len = 0;

    text[0] = '\0';
    for (size_t i = 0; i < s->count && len + 24 < size; i++) {
        bool known = false;
        for (size_t k = 0; k < i; k++)
            known = known || s->runs[k].seed == s->runs[i].seed;
        if (!known)
            len += (size_t)snprintf(text + len, size - len, "%s%llu", len ? " " : "",
                (unsigned long long)s->runs[i].seed);
    }
}

void setup_notes(struct comparison *c)
{
    static const struct {
        const char *what;
        void (*put)(const struct environment *v, char *text, size_t size);
    } rows[] = {
        {"machines", put_machine}, {"servers", put_server}, {"mailproofs", put_mailproof_version}};
    struct environment base, new;
    struct err unread;
    char a[200], b[200];

    put_seeds(c->base, a, sizeof a);
    put_seeds(c->new, b, sizeof b);
    note_difference(c, "seeds", a, b);
    // Without a readable env.json on both sides, no further difference is known.
    if (c->base->count == 0 || c->new->count == 0 ||
        !environment_read(&base, c->base->runs[0].folder, &unread) ||
        !environment_read(&new, c->new->runs[0].folder, &unread))
        return;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        rows[i].put(&base, a, sizeof a);
        rows[i].put(&new, b, sizeof b);
        note_difference(c, rows[i].what, a, b);
    }
}

// --- stored runs by their folders ----------------------------------------------------

// Adds the run in a result folder. A run that a person ended is only counted.
static bool add_run_folder(struct side *s, const char *folder, struct err *e)
{
    struct stored run;

    if (!stored_read(&run, folder, e))
        return false;
    s->interrupted += run.interrupted;
    if (!run.interrupted)
        side_add(s, &run);
    return true;
}

bool collect_runs(struct side *s, const char *path, struct err *e)
{
    struct gathered g FREED_BY(gather_fini) = {0};
    bool ok = gather_results(&g, path, e) || err_prefix(e, "compare");

    for (size_t i = 0; ok && i < g.count; i++)
        ok = add_run_folder(s, g.folders[i], e);
    if (ok && g.count == 0)
        ok = err_set(e, ERR_USAGE, "compare: %.500s holds no result of a run", path);
    return ok;
}

void collect_scenario(struct side *s, const struct side *all, const char *scenario)
{
    for (size_t i = 0; i < all->count; i++) {
        if (strcmp(all->runs[i].scenario, scenario) == 0)
            side_add(s, &all->runs[i]);
    }
}
