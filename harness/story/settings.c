// The settings of a scenario that are not those of every story.
#include <stdio.h>
#include <string.h>

#include "scenario/parse.h"
#include "story/inside.h"

// True for what a story says in words of its own, or does not need.
static bool is_other(const struct writer *w, const char *path)
{
    static const char *const others[] = {
        "name", "summary", "tags", "seed", "needs", "faults", "collector.command"};
    static const char *const objectives[] = {"allow.", "judged.", "expect."};

    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (strcmp(path, others[i]) == 0)
            return true;
    // In a part, the numbers are others. An invariant that is expected is a promise.
    for (size_t i = 0; w->part && i < sizeof objectives / sizeof *objectives; i++) {
        size_t len = strlen(objectives[i]);
        const struct metric *m =
            strncmp(path, objectives[i], len) == 0 ? metric_find(path + len) : NULL;
        if (m && (*path != 'e' || !m->invariant))
            return true;
    }
    return false;
}

static void write_scalar(const struct node *n, bool verbatim, struct buf *out)
{
    static const char safe[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./%-";

    if (verbatim || (*n->text && n->text[strspn(n->text, safe)] == '\0')) {
        buf_append_str(out, n->text);
        return;
    }
    buf_append_char(out, '"');
    for (const char *p = n->text; *p; p++)
        buf_printf(out, "%s%c", *p == '"' || *p == '\\' ? "\\" : "", *p);
    buf_append_char(out, '"');
}

static bool same_scalar(const struct node *a, const struct node *b)
{
    const struct node *x = a->first, *y = b->first;

    if (a->kind != b->kind || a->count != b->count)
        return false;
    if (a->kind == NODE_SCALAR)
        return strcmp(a->text, b->text) == 0;
    for (; x; x = x->next, y = y->next)
        if (!same_scalar(x, y))
            return false;
    return true;
}

static void write_setting(const struct node *n, const char *path, struct buf *out)
{
    bool verbatim = strncmp(path, "collector.env.", 14) == 0 ||
                    strncmp(path, "postgres.settings.", 18) == 0 ||
                    strncmp(path, "expect.", 7) == 0 || strncmp(path, "allow.", 6) == 0;

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

// Writes each value below `n` that is not the one below `base`.
static void write_settings(
    const struct writer *w, const struct node *n, const struct node *base, const char *path)
{
    size_t index = 0;

    for (const struct node *child = n->first; child; child = child->next, index++) {
        char below[300], number[24];
        snprintf(number, sizeof number, "%zu", index);
        snprintf(below, sizeof below, "%s%s%s", path, *path ? "." : "",
            child->key ? child->key : number);
        const struct node *other = !base        ? NULL
                                   : child->key ? node_child(base, child->key)
                                                : node_item(base, index);
        // A list of words is one setting, a list of maps is one for each key in it.
        bool list =
            child->kind == NODE_LIST && (!child->first || child->first->kind == NODE_SCALAR);
        if (is_other(w, below))
            continue;
        if (child->kind != NODE_SCALAR && !list)
            write_settings(w, child, other, below);
        // Settings that are those of every story would hide the few that matter.
        else if (w->explain || !other || !same_scalar(child, other))
            write_setting(child, below, w->out);
    }
}

static bool read_tree(const struct scenario *s, struct node **root, struct err *e)
{
    static const struct origin nowhere = {.file = "story", .line = 1, .column = 1};
    struct buf yaml;

    buf_init(&yaml, 4u << 20);
    bool ok = ((scenario_write(s, &yaml) && buf_str(&yaml)) || err_memory(e)) &&
              parse_yaml(root, yaml.data, yaml.len, &nowhere, e);
    buf_fini(&yaml);
    return ok;
}

bool write_scenario(const struct writer *w)
{
    struct node *base = NULL, *full = NULL, *here = NULL;
    struct scenario s = {0};
    struct err e;

    bool ok = story_base(&base, &e) && scenario_make(&s, base, &e) && read_tree(&s, &full, &e) &&
              read_tree(w->s, &here, &e);
    if (ok)
        write_settings(w, here, full, "");
    // A part has too few probes to measure the slack of the whole run again.
    if (ok && w->part && w->s->slack_ns == SLACK_AUTO)
        buf_printf(w->out, "set slack=%lld.%06lldms\n", (long long)(w->part->slack_ns / NS_PER_MS),
            (long long)(w->part->slack_ns % NS_PER_MS));
    node_free(base);
    node_free(full);
    node_free(here);
    scenario_fini(&s);
    return ok;
}
