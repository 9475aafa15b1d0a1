#include "scenario/overrides.h"

#include <ctype.h>

#include "scenario/parse.h"
#include "base/utf8.h"

// Below these keys a name may hold dots, and a value is free text.
static const char *const free_names[] = {"expect", "allow", "collector.env", "postgres.settings"};

struct walk {
    struct origin origin;
    const char *path;  // the rest of "load.0.for=1s", from the next piece on
    const char *begin; // start of the whole path
    const char *end;   // the '=' after the path
};

static bool is_item_number(const char *s)
{
    // Four digits are enough for the longest list, and cannot overflow.
    return *s != '\0' && s[strspn(s, "0123456789")] == '\0' && strlen(s) <= 4;
}

// True when the part of the path before the next piece is one of free_names.
static bool below_free_name(const struct walk *w)
{
    // The '.' before the next piece does not count.
    size_t len = w->path > w->begin ? (size_t)(w->path - w->begin) - 1 : 0;

    for (size_t i = 0; i < sizeof free_names / sizeof *free_names; i++)
        if (strlen(free_names[i]) == len && memcmp(free_names[i], w->begin, len) == 0)
            return true;
    return false;
}

// Copies the next piece of the path, and moves past it. False when the piece is empty or too long,
// or when the path ends in a '.' after it.
static bool next_piece(struct walk *w, char *piece, size_t size)
{
    // Names of metrics and settings have dots of their own, so below free_names the rest of the
    // path is one piece.
    bool one_piece = below_free_name(w);
    const char *p = w->path;

    while (p < w->end && (one_piece || *p != '.'))
        p++;
    size_t len = (size_t)(p - w->path);
    if (len == 0 || len >= size || p + 1 == w->end)
        return false;
    memcpy(piece, w->path, len);
    piece[len] = '\0';
    w->path = p < w->end ? p + 1 : p;
    return true;
}

// Adds a node on the way to the value, below the list or map `at`, and returns it.
static struct node *add_child(struct node *at, const char *key, const struct walk *w)
{
    // If the next piece is a number, the new node is a list. The kind of the last node does not
    // matter, because the value replaces that node.
    bool list = w->path < w->end && isdigit((unsigned char)*w->path) && !below_free_name(w);
    struct node *n = node_new(list ? NODE_LIST : NODE_MAP, NULL, &w->origin);

    node_add(at, n, key, &w->origin);
    return n;
}

// Returns the node one step below `at`, which it makes if it is missing. NULL with *e filled on
// failure.
static struct node *step_down(struct walk *w, struct node *at, const char *piece, struct err *e)
{
    if (at->kind == NODE_SCALAR) {
        origin_err(
            &w->origin, e, "cannot set '%s', because the value above it is not a map", piece);
        return NULL;
    }
    if (at->kind == NODE_LIST) {
        if (!is_item_number(piece)) {
            origin_err(
                &w->origin, e, "'%s' should be the number of a list item, counted from 0", piece);
            return NULL;
        }
        size_t index = strtoul(piece, NULL, 10);
        // In a list of three, number 3 adds an item. A higher number would leave a gap.
        if (index > at->count) {
            origin_err(&w->origin, e, "the list has %zu %s; number %zu would be the next",
                at->count, NOUN(at->count, "item", "items"), at->count);
            return NULL;
        }
        return index < at->count ? node_item(at, index) : add_child(at, NULL, w);
    }
    struct node *n = node_child(at, piece);
    return n ? n : add_child(at, piece, w);
}

// Makes the node of the value after the '='. verbatim: the value is plain text, else it is YAML.
static struct node *parse_value(const struct walk *w, bool verbatim, struct err *e)
{
    const char *value = w->end + 1;
    struct node *n = NULL;

    // An empty value is an empty text. libyaml would call it an empty document.
    if (verbatim || *value == '\0')
        return node_new(NODE_SCALAR, value, &w->origin);
    return parse_yaml(&n, value, strlen(value), &w->origin, e) ? n : NULL;
}

bool override_apply(struct node *root, const char *set, const struct origin *place, struct err *e)
{
    struct walk w = {.origin = place ? *place : (struct origin){.set = set},
        .path = set,
        .begin = set,
        .end = strchr(set, '=')};
    struct node *at = root;
    bool verbatim = false;
    size_t depth = 0;

    // Checked here, because libyaml does not see the path. The errors below print the text, so it
    // must not be broken.
    if (!utf8_valid(set) && place)
        return origin_err(place, e, "the value is not UTF-8 text");
    if (!utf8_valid(set))
        return err_set(e, ERR_USAGE, "--set: the value is not UTF-8 text");
    if (!w.end || w.end == set)
        return origin_err(&w.origin, e, "write a key, '=' and a value, such as load.0.for=1s");
    while (w.path < w.end) {
        char piece[128];
        // Asked before next_piece moves on: a value below one of free_names is plain text.
        verbatim = below_free_name(&w);
        if (!next_piece(&w, piece, sizeof piece) || ++depth > NODE_DEPTH_MAX)
            return origin_err(&w.origin, e, "this is not a path; write one such as load.0.for");
        at = step_down(&w, at, piece, e);
        if (!at)
            return false;
    }
    struct node *value = parse_value(&w, verbatim, e);
    if (!value)
        return false;
    node_replace(at, value);
    return true;
}
