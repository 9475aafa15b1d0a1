// Writes the settings of a scenario that differ from those with which every story begins.
#include <ctype.h>

#include "scenario/parse.h"
#include "story/event.h"

#define SETTINGS_MAX (4u << 20)

// True for a setting that is not written: a story has other words for it, or does not need it.
static bool is_left_out(const struct writer *w, const char *path)
{
    static const char *const others[] = {
        "name", "summary", "tags", "seed", "needs", "faults", "counterparts", "collector.command"};
    enum { ALLOW, JUDGED, EXPECT };
    static const char *const objectives[] = {
        [ALLOW] = "allow.", [JUDGED] = "judged.", [EXPECT] = "expect."};

    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (strcmp(path, others[i]) == 0)
            return true;
    // Objectives are about the numbers of the whole run, so a part leaves them out. But `expect`
    // with an invariant is kept, because it makes the collector promise this invariant.
    for (size_t i = 0; w->part && i < sizeof objectives / sizeof *objectives; i++) {
        size_t len = strlen(objectives[i]);
        const struct metric *m =
            strncmp(path, objectives[i], len) == 0 ? metric_find(path + len) : NULL;
        if (m && (i != EXPECT || !m->invariant))
            return true;
    }
    return false;
}

// Appends a value within quotes, as YAML has it. A '#' is written by its number, because it might
// begin a comment of the story.
static void write_quoted(const char *text, struct buf *out)
{
    buf_append_char(out, '"');
    for (const char *p = text; *p; p++) {
        if (*p == '#' || iscntrl((unsigned char)*p))
            buf_printf(out, "\\x%02x", (unsigned char)*p);
        else
            buf_printf(out, "%s%c", *p == '"' || *p == '\\' ? "\\" : "", *p);
    }
    buf_append_char(out, '"');
}

// Appends a value: as it is with `verbatim` or if all of its characters are safe, otherwise within
// quotes.
static void write_scalar(const struct node *n, bool verbatim, struct buf *out)
{
    static const char safe[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./%-";

    if (verbatim || (*n->text && n->text[strspn(n->text, safe)] == '\0')) {
        buf_append_str(out, n->text);
        return;
    }
    write_quoted(n->text, out);
}

// True when the value is read back the same if it is written without quotes.
static bool is_plain(const char *text)
{
    size_t len = strlen(text);

    for (const char *p = text; *p; p++)
        if (*p == '#' || iscntrl((unsigned char)*p))
            return false;
    return len == 0 || text[len - 1] != ' ';
}

// True for a map with free names, one of whose values can only be written within quotes.
static bool needs_quotes(const struct node *n, const char *path)
{
    if (strcmp(path, "collector.env") != 0 && strcmp(path, "postgres.settings") != 0)
        return false;
    for (const struct node *item = n->first; item; item = item->next)
        if (!is_plain(item->text))
            return true;
    return false;
}

// Writes a map of values as one `set` line, where values may stand within quotes.
static void write_map(const struct node *n, const char *path, struct buf *out)
{
    buf_printf(out, "set %s={", path);
    for (const struct node *item = n->first; item; item = item->next) {
        buf_printf(out, "%s%s: ", item == n->first ? "" : ", ", item->key);
        write_quoted(item->text, out);
    }
    buf_append_str(out, "}\n");
}

// Writes a value, or a list of values, as a `set` line.
static void write_setting(const struct node *n, const char *path, struct buf *out)
{
    // override_apply takes the values of keys with free names as they are, without quotes.
    static const char *const free_names[] = {
        "collector.env.", "postgres.settings.", "expect.", "allow."};
    bool verbatim = false;

    for (size_t i = 0; i < sizeof free_names / sizeof *free_names; i++)
        verbatim = verbatim || strncmp(path, free_names[i], strlen(free_names[i])) == 0;
    buf_printf(out, "set %s=", path);
    if (n->kind == NODE_SCALAR) {
        write_scalar(n, verbatim, out);
    } else {
        for (const struct node *item = n->first; item; item = item->next) {
            buf_append_str(out, item == n->first ? "[" : ", ");
            write_scalar(item, false, out);
        }
        buf_append_str(out, n->count ? "]" : "[]");
    }
    buf_append_char(out, '\n');
}

// True when both nodes have the same values; false when b is NULL.
static bool same_values(const struct node *a, const struct node *b)
{
    bool same = b && a->kind == b->kind && a->count == b->count &&
                (a->kind != NODE_SCALAR || strcmp(a->text, b->text) == 0);

    if (same)
        for (a = a->first, b = b->first; same && a; a = a->next, b = b->next)
            same = same_values(a, b);
    return same;
}

// Writes each value below `n` that differs from the one with which every story begins; all others
// would only hide the few that matter. `base` is what every story has in the place of `n`; NULL:
// nothing, so each value is written. `path` is the path of `n` in the scenario.
static void write_settings(
    const struct writer *w, const struct node *n, const struct node *base, const char *path)
{
    size_t index = 0;

    for (const struct node *child = n->first; child; child = child->next, index++) {
        const struct node *other = NULL;
        char below[300];
        if (base && base->kind == n->kind)
            other = child->key ? node_child(base, child->key) : node_item(base, index);
        snprintf(below, sizeof below, "%s%s", path, *path ? "." : "");
        size_t len = strlen(below);
        if (child->key)
            snprintf(below + len, sizeof below - len, "%s", child->key);
        else
            snprintf(below + len, sizeof below - len, "%zu", index);
        // A list of words is one setting. A list of maps has a setting for each key of each map.
        bool whole =
            child->kind == NODE_SCALAR ||
            (child->kind == NODE_LIST && (!child->first || child->first->kind == NODE_SCALAR));
        if (is_left_out(w, below))
            continue;
        if (needs_quotes(child, below))
            write_map(child, below, w->out);
        else if (!whole)
            write_settings(w, child, other, below);
        else if (!same_values(child, other))
            write_setting(child, below, w->out);
    }
}

// Sets *root to all settings of a scenario, as a tree that the caller frees.
static bool tree_of(const struct scenario *s, struct node **root, struct err *e)
{
    static const struct origin nowhere = {.file = "story", .line = 1, .column = 1};
    struct buf yaml FREED_BY(buf_fini) = BUF_INIT(SETTINGS_MAX);

    return scenario_write(s, &yaml, e) && parse_yaml(root, yaml.data, yaml.len, &nowhere, e);
}

// Returns a copy of the load's phases, which borrows what they own. The times of a trace stand in a
// file that a reader of the story does not have. So its phase is told as a closed loop, which has
// no rate either; each token says when it was due.
static struct load_phase *phases_of(const struct scenario *s)
{
    struct load_phase *phases = memory_allocate(s->load_count * sizeof *phases);

    for (size_t i = 0; i < s->load_count; i++) {
        phases[i] = s->load[i];
        if (phases[i].arrivals != ARRIVALS_TRACE)
            continue;
        phases[i].arrivals = ARRIVALS_POISSON;
        phases[i].closed = true;
        phases[i].file = NULL;
    }
    return phases;
}

bool write_scenario(const struct writer *w)
{
    struct node *base_yaml = NULL, *base = NULL, *root = NULL;
    struct scenario s FREED_BY(scenario_fini) = {0}, told = *w->s;
    struct load_phase *phases FREED_BY(memory_free) = phases_of(w->s);
    struct err e;

    told.load = phases;
    bool ok = story_base(&base_yaml, &e) && scenario_make(&s, base_yaml, &e) &&
              tree_of(&s, &base, &e) && tree_of(&told, &root, &e);
    if (ok)
        write_settings(w, root, w->explain ? NULL : base, "");
    // A part has too few probes to measure the slack of the whole run again.
    if (ok && w->part && w->s->slack_ns == SLACK_AUTO)
        buf_printf(w->out, "set slack=%lld.%06lldms\n", (long long)(w->part->slack_ns / NS_PER_MS),
            (long long)(w->part->slack_ns % NS_PER_MS));
    node_free(base_yaml);
    node_free(base);
    node_free(root);
    return ok;
}
