#include "scenario/parse.h"

#include <yaml.h>

struct reader {
    yaml_parser_t yaml;
    const char *text;
    size_t len;
    const struct origin *origin;
    struct node *root;
    struct node *open; // the innermost list or map that has not ended yet
    char *key;         // key of the map entry whose value comes next
    struct origin key_origin;
    size_t depth;
    size_t documents; // number of documents that have begun; a second one is an error
    bool at_end;      // the whole text was read
};

static bool take_event(struct reader *r, const yaml_event_t *event, struct err *e);
static bool syntax_err(const struct reader *r, struct err *e);

bool parse_yaml(
    struct node **root, const char *text, size_t len, const struct origin *origin, struct err *e)
{
    struct reader r = {.text = text, .len = len, .origin = origin};
    bool ok = false;

    *root = NULL;
    if (!yaml_parser_initialize(&r.yaml))
        return err_memory(e);
    // Otherwise libyaml would guess, and take a file that begins with certain bytes for UTF-16.
    yaml_parser_set_encoding(&r.yaml, YAML_UTF8_ENCODING);
    yaml_parser_set_input_string(&r.yaml, (const unsigned char *)text, len);
    while (!r.at_end) {
        yaml_event_t event;

        if (!yaml_parser_parse(&r.yaml, &event)) {
            ok = syntax_err(&r, e);
            goto out;
        }
        ok = take_event(&r, &event, e);
        yaml_event_delete(&event);
        if (!ok)
            goto out;
    }
    *root = r.root;
    r.root = NULL;
out:
    node_free(r.root);
    free(r.key);
    yaml_parser_delete(&r.yaml);
    return ok;
}

static struct origin origin_at(const struct reader *r, yaml_mark_t mark)
{
    struct origin at = *r->origin;

    // The text of a --set has no place in a file (0), so it counts from its own beginning.
    if (at.line == 0)
        at.line = at.column = 1;
    // libyaml counts from 0. The text may begin in the middle of a line of its file.
    at.column = mark.line == 0 ? at.column + mark.column : mark.column + 1;
    at.line += mark.line;
    return at;
}

// Converts an offset into a line and a column, because libyaml tells only the offset of the first
// byte that is not UTF-8.
static struct origin origin_of_offset(const struct reader *r, size_t offset)
{
    struct origin at = origin_at(r, (yaml_mark_t){0});

    for (size_t i = 0; i < offset && i < r->len; i++) {
        unsigned char c = (unsigned char)r->text[i];
        if (c == '\n') {
            at.line++;
            at.column = 1;
        } else if ((c & 0xc0) != 0x80) { // not a later byte of a character
            at.column++;
        }
    }
    return at;
}

// Moves the mark to the first tab in the indentation of its line. False without one.
static bool find_tab(const struct reader *r, yaml_mark_t *mark)
{
    const char *p = r->text, *end = r->text + r->len;

    for (size_t line = 0; line < mark->line; line++) {
        p = memchr(p, '\n', (size_t)(end - p));
        if (!p)
            return false;
        p++;
    }
    for (mark->column = 0; p < end && (*p == ' ' || *p == '\t'); p++, mark->column++)
        if (*p == '\t')
            return true;
    return false;
}

// Turns libyaml's error into ours, with its place. Always returns false.
static bool syntax_err(const struct reader *r, struct err *e)
{
    const yaml_parser_t *y = &r->yaml;
    struct origin at = origin_at(r, y->problem_mark);

    if (y->error == YAML_MEMORY_ERROR)
        return err_memory(e);
    if (y->error == YAML_READER_ERROR) {
        at = origin_of_offset(r, y->problem_offset);
        return origin_err(&at, e, "the file is not UTF-8 text (%s)", y->problem);
    }
    // About a tab, libyaml only says that some character cannot start a token. Few readers would
    // then think of the tab.
    yaml_mark_t tab = y->problem_mark;
    if (find_tab(r, &tab)) {
        at = origin_at(r, tab);
        return origin_err(&at, e, "YAML is not indented with tabs; use spaces");
    }
    if (y->context)
        return origin_err(&at, e, "not YAML: %s, %s", y->context, y->problem);
    return origin_err(&at, e, "not YAML: %s", y->problem);
}

// Refuses what YAML has and scenarios do not: anchors, tags and zero bytes. The event is that of a
// scalar, or of the start of a list or map.
static bool refuse_extras(const struct origin *at, const yaml_event_t *event, struct err *e)
{
    const unsigned char *anchor, *tag;

    if (event->type == YAML_SCALAR_EVENT) {
        anchor = event->data.scalar.anchor;
        tag = event->data.scalar.tag;
    } else if (event->type == YAML_SEQUENCE_START_EVENT) {
        anchor = event->data.sequence_start.anchor;
        tag = event->data.sequence_start.tag;
    } else {
        anchor = event->data.mapping_start.anchor;
        tag = event->data.mapping_start.tag;
    }
    if (anchor)
        return origin_err(
            at, e, "anchors (&%s) are not used in scenarios; write the value out", anchor);
    if (tag)
        return origin_err(at, e, "tags (%s) are not used in scenarios; quote a text instead", tag);
    if (event->type == YAML_SCALAR_EVENT &&
        memchr(event->data.scalar.value, 0, event->data.scalar.length))
        return origin_err(at, e, "a text cannot hold a zero byte");
    return true;
}

// Keeps the key of a map's next entry; the next event brings the value.
static bool read_node_key(
    struct reader *r, const struct origin *at, const yaml_event_t *event, struct err *e)
{
    const char *text = (const char *)event->data.scalar.value;

    if (event->type != YAML_SCALAR_EVENT)
        return origin_err(at, e, "a key is a single word, not a list or a map");
    const struct node *before = node_child(r->open, text);
    if (before)
        return origin_err(
            at, e, "'%s' is given twice; first in line %zu", text, before->key_origin.line);
    r->key = memory_copy(text);
    r->key_origin = *at;
    return true;
}

// Adds a node to the innermost open list or map, or makes it the root. Opens a new list or map.
static bool append_node(struct reader *r, const struct origin *at, enum node_kind kind,
    const yaml_event_t *event, struct err *e)
{
    bool scalar = kind == NODE_SCALAR;

    // The number of entries is limited because each look-up starts from the first one, and the
    // depth because the functions that walk the tree are recursive.
    if (r->open && r->open->count >= PARSE_CHILDREN_MAX)
        return origin_err(at, e, "more than %d entries in one list or map", PARSE_CHILDREN_MAX);
    if (!scalar && r->depth >= NODE_DEPTH_MAX)
        return origin_err(at, e, "nested more than %d levels deep", NODE_DEPTH_MAX);

    struct node *n = node_new(kind, scalar ? (const char *)event->data.scalar.value : NULL, at);
    if (r->open)
        node_add(r->open, n, r->key, &r->key_origin);
    else
        r->root = n;
    free(r->key);
    r->key = NULL;
    if (!scalar) {
        r->open = n;
        r->depth++;
    }
    return true;
}

static bool read_node(
    struct reader *r, const struct origin *at, const yaml_event_t *event, struct err *e)
{
    enum node_kind kind = NODE_SCALAR;

    if (!refuse_extras(at, event, e))
        return false;
    if (r->open && r->open->kind == NODE_MAP && !r->key)
        return read_node_key(r, at, event, e);
    if (event->type == YAML_SEQUENCE_START_EVENT)
        kind = NODE_LIST;
    if (event->type == YAML_MAPPING_START_EVENT)
        kind = NODE_MAP;
    return append_node(r, at, kind, event, e);
}

// Adds what one event of libyaml says to the tree. False for what a scenario may not have.
static bool take_event(struct reader *r, const yaml_event_t *event, struct err *e)
{
    struct origin at = origin_at(r, event->start_mark);

    switch (event->type) {
    case YAML_SCALAR_EVENT:
    case YAML_SEQUENCE_START_EVENT:
    case YAML_MAPPING_START_EVENT:
        return read_node(r, &at, event, e);
    case YAML_SEQUENCE_END_EVENT:
    case YAML_MAPPING_END_EVENT:
        r->open = r->open->parent;
        r->depth--;
        return true;
    // Aliases are refused: a few aliases of aliases could turn a small file into gigabytes, and an
    // error in an aliased value would have two places.
    case YAML_ALIAS_EVENT:
        return origin_err(&at, e, "aliases (*%s) are not used in scenarios; write the value out",
            (const char *)event->data.alias.anchor);
    case YAML_DOCUMENT_START_EVENT:
        if (r->documents++ > 0)
            return origin_err(&at, e, "a second document starts here; a file holds one scenario");
        return true;
    case YAML_STREAM_END_EVENT:
        r->at_end = true;
        at = origin_at(r, (yaml_mark_t){0});
        return r->root || origin_err(&at, e, "there is nothing in it");
    // The other events, such as the end of a document, carry no value.
    default:
        return true;
    }
}
