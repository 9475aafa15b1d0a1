#include "field/prose.h"

#include "base/base.h"

#define FENCE "```"

// The text from `at` up to, but not including, `end`.
struct excerpt {
    const char *at, *end;
};

// Returns where `what` is first found in the excerpt; NULL: nowhere, or only beyond its end.
static const char *find_prose(struct excerpt p, const char *what)
{
    const char *found = strstr(p.at, what);

    return found && found + strlen(what) <= p.end ? found : NULL;
}

static json_t *text_of(const char *at, const char *end)
{
    return json_stringn(at, (size_t)(end - at));
}

static void add_span(json_t *spans, const char *kind, const char *at, const char *end)
{
    if (end > at)
        json_array_append_new(spans, json_pack("{s:o}", kind, text_of(at, end)));
}

// Adds the text between the mark at p.at and the next equal mark as a span. Returns what follows
// the second mark; NULL when there is none, or no text between the marks.
static const char *add_marked(json_t *spans, const char *kind, const char *mark, struct excerpt p)
{
    struct excerpt inside = {p.at + strlen(mark), p.end};
    const char *close = find_prose(inside, mark);

    if (!close || close == inside.at)
        return NULL;
    add_span(spans, kind, inside.at, close);
    return close + strlen(mark);
}

// Adds the link [words](url) that begins at p.at. Returns what follows it; NULL: this is no link.
static const char *add_link(json_t *spans, struct excerpt p)
{
    const char *middle = find_prose(p, "]"), *close = NULL;

    if (middle && middle[1] == '(')
        close = find_prose((struct excerpt){middle, p.end}, ")");
    if (!close)
        return NULL;
    json_array_append_new(spans, json_pack("{s:o, s:o}", "words", text_of(p.at + 1, middle), "url",
                                     text_of(middle + 2, close)));
    return close + 1;
}

// Adds the link, code or bold words that begin at p.at. Returns what follows; NULL: there are none.
static const char *add_special(json_t *spans, struct excerpt p)
{
    if (*p.at == '[')
        return add_link(spans, p);
    if (*p.at == '`')
        return add_marked(spans, "mono", "`", p);
    return strncmp(p.at, "**", 2) == 0 ? add_marked(spans, "bold", "**", p) : NULL;
}

// Returns a paragraph as its spans: plain text, and what add_special finds in between.
static json_t *paragraph(struct excerpt p)
{
    json_t *spans = json_array();
    const char *plain = p.at;

    while (p.at < p.end) {
        json_t *special FREED_BY(json_decrefp) = json_array();
        // A mark that nothing closes is a plain character.
        const char *after = strchr("[`*", *p.at) ? add_special(special, p) : NULL;
        if (after) {
            add_span(spans, "plain", plain, p.at);
            json_array_extend(spans, special);
            plain = after;
        }
        p.at = after ? after : p.at + 1;
    }
    add_span(spans, "plain", plain, p.end);
    return json_pack("{s:o}", "spans", spans);
}

// Adds a block of code without the lines that open and close it. Returns what follows the closing
// mark; NULL: nothing closes the block.
static const char *add_code(json_t *blocks, const char *text)
{
    const char *opened = strchr(text, '\n'), *to = opened ? strstr(opened, "\n" FENCE) : NULL;

    if (!to)
        return NULL;
    // In an empty block, the newline that ends the opening line is also the one before the mark.
    const char *from = to > opened ? opened + 1 : to;
    json_array_append_new(blocks, json_pack("{s:o}", "code", text_of(from, to)));
    return to + 1 + strlen(FENCE);
}

json_t *prose_blocks(const char *text)
{
    json_t *blocks = json_array();

    text += strspn(text, "\n");
    while (*text) {
        const char *after =
            strncmp(text, FENCE, strlen(FENCE)) == 0 ? add_code(blocks, text) : NULL;
        // No block of code begins here, so it is a paragraph, which ends at an empty line.
        if (!after) {
            const char *gap = strstr(text, "\n\n");
            after = gap ? gap : text + strlen(text);
            json_array_append_new(blocks, paragraph((struct excerpt){text, after}));
        }
        text = after + strspn(after, "\n");
    }
    return blocks;
}

void prose_drop_folders(char *text)
{
    static const char ends[] = " :'\"()|";
    char *to = text;

    for (const char *from = text; *from;) {
        size_t len = strcspn(from, ends);
        size_t skip = *from == '/' ? len : 0; // length of the folders of a path that begins here
        while (skip > 0 && from[skip - 1] != '/')
            skip--;
        memmove(to, from + skip, len - skip);
        to += len - skip;
        from += len;
        if (*from)
            *to++ = *from++;
    }
    *to = '\0';
}
