// Promises, each quoted from the subject's documentation. `promises: [no_loss]` only lists words;
// `promises: {no_loss: {quote: …, url: …}}` lists the same words with their evidence.
#pragma once

#include "scenario/grammar.h"
#include "scenario/node.h"

struct quoted {
    int flag;    // the bit of the word
    char *quote; // owned; the words of the documentation
    char *url;   // owned; the page with these words
};

// What FIELD_QUOTED fills.
struct quoted_flags {
    int flags;            // the bits of all words
    struct quoted *items; // owned; empty when the words are a plain list
    size_t count;
};

// Decodes promises, with their evidence or as a plain list of words, into the struct quoted_flags
// at `slot`. decode.c calls it for fields of the type FIELD_QUOTED.
MUST_USE bool quoted_decode(const struct field *f, const struct node *n, void *slot, struct err *e);
void quoted_fini(struct quoted_flags *q);

// Returns the evidence of one promise; NULL: it has none.
const struct quoted *quoted_find(const struct quoted_flags *q, int flag);
