// Finds the known word that is nearest to an unknown one, for "did you mean".
#pragma once

#include "base/base.h"

#define SUGGEST_WORD_MAX 40 // a longer word gets no suggestion

struct suggestion {
    const char *word;                // the unknown word; not owned
    char best[SUGGEST_WORD_MAX + 1]; // the nearest known word; "" while none is near enough
    size_t distance; // number of edits from the word to `best`; while there is none, the smallest
                     // number that is not near enough
};

// Begins the search for a word. suggest_offer then compares the word with one known word after
// another.
void suggest_init(struct suggestion *s, const char *word);
void suggest_offer(struct suggestion *s, const char *candidate);

// Writes "; did you mean 'x'?", or "" when no word was near. The result is valid until the next
// call with the same buffer.
const char *suggest_text(const struct suggestion *s, char *text, size_t size);
