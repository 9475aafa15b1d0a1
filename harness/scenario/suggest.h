// Finds the known word that is nearest to an unknown one, for "did you mean".
#pragma once

#include <stddef.h>

#define SUGGEST_WORD_MAX 40 // longer words have no neighbours

struct suggestion {
    const char *word;                // what was written; not owned
    char best[SUGGEST_WORD_MAX + 1]; // "" while nothing is near enough
    size_t distance;
};

void suggest_init(struct suggestion *s, const char *word);
void suggest_offer(struct suggestion *s, const char *candidate);

// Writes "; did you mean 'x'?", or "" when nothing was near. Valid until the next call with the
// same buffer.
const char *suggest_text(const struct suggestion *s, char *text, size_t size);
