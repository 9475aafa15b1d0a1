#include "field/fill_template.h"

#include <assert.h>
#include <string.h>

#include "report/escape.h"
#include "report/pages/template.h"

#define DEPTH_MAX 8
#define NAME_MAX_LEN 40

// The values whose members a name may mean, the innermost last.
struct scope {
    const json_t *values[DEPTH_MAX];
    size_t depth;
};

static const json_t *find_member(const struct scope *s, const char *name)
{
    for (size_t i = s->depth; i-- > 0;) {
        const json_t *value = json_object_get(s->values[i], name);
        if (value)
            return value;
    }
    return NULL;
}

static bool is_empty(const json_t *v)
{
    return !v || json_is_null(v) || json_is_false(v) ||
           (json_is_array(v) && json_array_size(v) == 0) ||
           (json_is_string(v) && json_string_length(v) == 0);
}

static void put_value(struct buf *out, const json_t *v)
{
    if (json_is_string(v))
        append_escaped(out, json_string_value(v));
    else if (json_is_integer(v))
        buf_printf(out, "%lld", (long long)json_integer_value(v));
}

static void put_style(struct buf *out)
{
    static const char *const none[] = {NULL};
    const char *rest = "{{style}}";

    template_next(out, &rest, none);
}

// Finds the end of a section, past inner sections of the same name; *after is what follows it.
static const char *section_end(
    const char *from, const char *to, const char *name, const char **after)
{
    char open[NAME_MAX_LEN + 8], none[NAME_MAX_LEN + 8], close[NAME_MAX_LEN + 8];
    int depth = 1;

    snprintf(open, sizeof open, "{{#%s}}", name);
    snprintf(none, sizeof none, "{{^%s}}", name);
    snprintf(close, sizeof close, "{{/%s}}", name);
    for (const char *at = from; (at = strstr(at, "{{")) != NULL && at < to; at += 2) {
        depth += strncmp(at, open, strlen(open)) == 0 || strncmp(at, none, strlen(none)) == 0;
        depth -= strncmp(at, close, strlen(close)) == 0;
        *after = at + strlen(close);
        if (depth == 0)
            return at;
    }
    assert(!"a section has no end");
    return to;
}

static void fill_place(struct buf *out, const char *from, const char *to, struct scope *s);

static void fill_inside(
    struct buf *out, const char *from, const char *to, struct scope *s, const json_t *value)
{
    assert(s->depth < DEPTH_MAX);
    s->values[s->depth++] = value;
    fill_place(out, from, to, s);
    s->depth--;
}

static void fill_section(
    struct buf *out, const char *from, const char *to, struct scope *s, const json_t *value)
{
    const json_t *item;
    size_t i;

    if (is_empty(value))
        return;
    if (!json_is_array(value))
        fill_inside(out, from, to, s, value);
    else
        json_array_foreach(value, i, item) fill_inside(out, from, to, s, item);
}

static void fill_place(struct buf *out, const char *from, const char *to, struct scope *s)
{
    const char *begin;

    while ((begin = strstr(from, "{{")) != NULL && begin < to) {
        const char *mark = begin + 2, *end = strstr(mark, "}}"), *after = NULL;
        const bool section = *mark == '#' || *mark == '^';
        char name[NAME_MAX_LEN + 1];

        // The pages are a part of the program, so a wrong mark is a mistake of ours.
        assert(end && end < to && end - mark <= NAME_MAX_LEN);
        snprintf(name, sizeof name, "%.*s", (int)(end - mark - section), mark + section);
        buf_append(out, from, (size_t)(begin - from));
        from = end + 2;
        if (section) {
            const json_t *value = find_member(s, name);
            const char *last = section_end(from, to, name, &after);
            if (*mark == '#')
                fill_section(out, from, last, s, value);
            else if (is_empty(value))
                fill_place(out, from, last, s);
            from = after;
        } else if (strcmp(name, "style") == 0) {
            put_style(out);
        } else {
            put_value(out, find_member(s, name));
        }
    }
    buf_append(out, from, (size_t)(to - from));
}

void fill_template(struct buf *out, const char *page, const json_t *root)
{
    struct scope s = {.values = {root}, .depth = 1};

    fill_place(out, page, page + strlen(page), &s);
}
