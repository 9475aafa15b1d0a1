#include "scenario/quoted.h"

#include "scenario/decode.h"
#include "scenario/gone.h"
#include "scenario/suggest.h"

#define AT(member) offsetof(struct quoted, member)

static const struct field fields[] = {
    {"quote", FIELD_STRING, AT(quote), .help = "the words of its documentation"},
    {"url", FIELD_STRING, AT(url), .help = "where these words stand"},
};

static const struct table table = {
    .fields = fields, .count = sizeof fields / sizeof *fields, .size = sizeof(struct quoted)};

// Returns the promise that the node's key names; NULL and an error when there is none.
static const struct word *want_promise(const struct field *f, const struct node *n, struct err *e)
{
    struct suggestion near;
    char instead[GONE_TEXT_MAX];

    suggest_init(&near, n->key);
    for (const struct word *w = f->words; w->name; w++) {
        if (strcmp(w->name, n->key) == 0)
            return w;
        suggest_offer(&near, w->name);
    }
    node_key_err(
        n, e, "'%s' is not a promise%s%s", n->key, gone_text("", n->key, instead), near.text);
    return NULL;
}

bool quoted_decode(const struct field *f, const struct node *n, void *slot, struct err *e)
{
    struct quoted_flags *q = slot;

    *q = (struct quoted_flags){0};
    // Without evidence, it is a plain list of words.
    if (n->kind != NODE_MAP)
        return decode_words(f, n, &q->flags, e);
    q->items = memory_zeroed(n->count, sizeof *q->items);
    for (const struct node *item = n->first; item; item = item->next) {
        const struct word *word = want_promise(f, item, e);
        // The item counts before it is decoded, so that it is freed even when it is half decoded.
        if (!word || !decode_map(&table, item, &q->items[q->count++], e))
            return false;
        q->items[q->count - 1].flag = (int)word->value;
        q->flags |= (int)word->value;
    }
    return true;
}

void quoted_fini(struct quoted_flags *q)
{
    for (size_t i = 0; i < q->count; i++) {
        free(q->items[i].quote);
        free(q->items[i].url);
    }
    free(q->items);
    *q = (struct quoted_flags){0};
}

const struct quoted *quoted_find(const struct quoted_flags *q, int flag)
{
    for (size_t i = 0; i < q->count; i++) {
        if (q->items[i].flag == flag)
            return &q->items[i];
    }
    return NULL;
}
