#include "scenario/node.h"

struct node *node_new(enum node_kind kind, const char *text, const struct origin *origin)
{
    struct node *n = memory_zeroed(1, sizeof *n);

    n->kind = kind;
    n->origin = *origin;
    n->text = memory_copy(text);
    return n;
}

static void free_children_and_text(struct node *n)
{
    struct node *child = n->first;

    while (child) {
        struct node *next = child->next;
        node_free(child);
        child = next;
    }
    free(n->text);
}

void node_free(struct node *n)
{
    if (!n)
        return;
    free_children_and_text(n);
    free(n->key);
    free(n);
}

void node_add(
    struct node *parent, struct node *child, const char *key, const struct origin *key_origin)
{
    assert(parent->kind != NODE_SCALAR && !child->parent);
    if (key) {
        child->key = memory_copy(key);
        child->key_origin = *key_origin;
    }
    child->parent = parent;
    if (parent->last)
        parent->last->next = child;
    else
        parent->first = child;
    parent->last = child;
    parent->count++;
}

void node_replace(struct node *n, struct node *with)
{
    free_children_and_text(n);
    n->kind = with->kind;
    n->text = with->text;
    n->origin = with->origin;
    n->first = with->first;
    n->last = with->last;
    n->count = with->count;
    for (struct node *child = n->first; child; child = child->next)
        child->parent = n;
    free(with->key);
    free(with);
}

struct node *node_child(const struct node *map, const char *key)
{
    if (!map || map->kind != NODE_MAP)
        return NULL;
    for (struct node *child = map->first; child; child = child->next)
        if (strcmp(child->key, key) == 0)
            return child;
    return NULL;
}

struct node *node_item(const struct node *list, size_t index)
{
    struct node *child = list->first;

    while (child && index-- > 0)
        child = child->next;
    return child;
}

// Puts "FILE:LINE:COLUMN: " or "--set KEY=VALUE: " before the text of *e. An override that comes
// from a file is named by its place there. Returns false, as err_prefix does.
static bool origin_prefix(const struct origin *at, struct err *e)
{
    if (!at->file)
        return err_prefix(e, "--set %s", at->set);
    return err_prefix(e, "%s:%zu:%zu", at->file, at->line, at->column);
}

static void err_setv(struct err *e, const char *fmt, va_list args) PRINTF_LIKE(2, 0);

// Sets an ERR_USAGE with this text.
static void err_setv(struct err *e, const char *fmt, va_list args)
{
    char text[sizeof e->text];

    vsnprintf(text, sizeof text, fmt, args);
    err_set(e, ERR_USAGE, "%s", text);
}

bool origin_err(const struct origin *at, struct err *e, const char *fmt, ...)
{
    va_list args;

    va_start(args, fmt);
    err_setv(e, fmt, args);
    va_end(args);
    return origin_prefix(at, e);
}

// Appends the path from the root to a node, such as load.0.for.
static void append_path(const struct node *n, struct buf *path)
{
    size_t index = 0;

    if (!n->parent)
        return;
    append_path(n->parent, path);
    if (path->len > 0)
        buf_append_char(path, '.');
    // The index is counted only now, because an override may have added items.
    for (const struct node *s = n->parent->first; s != n; s = s->next)
        index++;
    if (n->key)
        buf_append_str(path, n->key);
    else
        buf_printf(path, "%zu", index);
}

// Puts the path from the root before the text of *e.
static void path_prefix(const struct node *n, struct err *e)
{
    struct buf path FREED_BY(buf_fini) = BUF_INIT(sizeof e->text);

    append_path(n, &path);
    if (path.len > 0 && buf_str(&path))
        err_prefix(e, "%s", path.data);
}

bool node_err_here(const struct node *n, struct err *e)
{
    path_prefix(n, e);
    return origin_prefix(&n->origin, e);
}

bool node_err(const struct node *n, struct err *e, const char *fmt, ...)
{
    va_list args;

    va_start(args, fmt);
    err_setv(e, fmt, args);
    va_end(args);
    return node_err_here(n, e);
}

bool node_key_err(const struct node *n, struct err *e, const char *fmt, ...)
{
    va_list args;

    va_start(args, fmt);
    err_setv(e, fmt, args);
    va_end(args);
    // The text names the key itself, so the path ends at the map above it.
    if (n->parent)
        path_prefix(n->parent, e);
    return origin_prefix(n->key ? &n->key_origin : &n->origin, e);
}
