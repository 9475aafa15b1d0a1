// The settings of a scenario that are not those of every story.
#include <stdio.h>
#include <string.h>

#include "scenario/parse.h"
#include "story/inside.h"

#define SETTINGS_MAX (4u << 20)
#define SETTING_MAX 4096

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

// Writes each value below `n`.
static void write_settings(
    const struct writer *w, const struct node *n, const char *path, struct buf *out)
{
    size_t index = 0;

    for (const struct node *child = n->first; child; child = child->next, index++) {
        char below[300], number[24];
        snprintf(number, sizeof number, "%zu", index);
        snprintf(below, sizeof below, "%s%s%s", path, *path ? "." : "",
            child->key ? child->key : number);
        // A list of words is one setting, a list of maps is one for each key in it.
        bool list =
            child->kind == NODE_LIST && (!child->first || child->first->kind == NODE_SCALAR);
        if (is_other(w, below))
            continue;
        if (child->kind != NODE_SCALAR && !list)
            write_settings(w, child, below, out);
        else
            write_setting(child, below, out);
    }
}

// Writes all settings of a scenario, a line each.
static bool write_all_settings(const struct writer *w, const struct scenario *s, struct buf *out)
{
    static const struct origin nowhere = {.file = "story", .line = 1, .column = 1};
    struct node *root = NULL;
    struct buf yaml;
    struct err e;

    buf_init(&yaml, SETTINGS_MAX);
    bool ok = scenario_write(s, &yaml) && buf_str(&yaml) &&
              parse_yaml(&root, yaml.data, yaml.len, &nowhere, &e);
    if (ok)
        write_settings(w, root, "", out);
    node_free(root);
    buf_fini(&yaml);
    return ok && buf_str(out);
}

// Appends the lines that the other text does not have: settings that are those of every story would
// hide the few that matter.
static void write_others(struct buf *out, const char *lines, const char *other)
{
    char line[SETTING_MAX];

    for (const char *end; (end = strchr(lines, '\n')) != NULL; lines = end + 1) {
        int len = snprintf(line, sizeof line, "\n%.*s\n", (int)(end - lines), lines);
        if (len >= (int)sizeof line || !strstr(other, line))
            buf_append(out, lines, (size_t)(end + 1 - lines));
    }
}

bool write_scenario(const struct writer *w)
{
    struct buf usual, here;
    struct node *base = NULL;
    struct scenario s = {0};
    struct err e;

    buf_init(&usual, SETTINGS_MAX);
    buf_init(&here, SETTINGS_MAX);
    buf_append_char(&usual, '\n');
    bool ok = story_base(&base, &e) && scenario_make(&s, base, &e) &&
              write_all_settings(w, &s, &usual) && write_all_settings(w, w->s, &here);
    if (ok)
        write_others(w->out, here.data, w->explain ? "" : usual.data);
    // A part has too few probes to measure the slack of the whole run again.
    if (ok && w->part && w->s->slack_ns == SLACK_AUTO)
        buf_printf(w->out, "set slack=%lld.%06lldms\n", (long long)(w->part->slack_ns / NS_PER_MS),
            (long long)(w->part->slack_ns % NS_PER_MS));
    node_free(base);
    scenario_fini(&s);
    buf_fini(&usual);
    buf_fini(&here);
    return ok;
}
