// Finds the known word that is nearest to an unknown one, for "did you mean".
#pragma once

#include "base/base.h"

#define SUGGEST_WORD_MAX 40 // a longer word gets no suggestion

struct suggestion {
    const char *word;                 // the unknown word; not owned
    char text[SUGGEST_WORD_MAX + 20]; // "; did you mean 'x'?", with the nearest known word; ""
                                      // while none is near enough
    size_t distance; // number of edits from the word to the nearest; while there is none, the
                     // smallest number that is not near enough
};

// Begins the search for a word. suggest_offer then compares the word with one known word after
// another.
void suggest_init(struct suggestion *s, const char *word);
void suggest_offer(struct suggestion *s, const char *candidate);
