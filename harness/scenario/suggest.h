// "Did you mean": the nearest of several known words to one that is not known.
#pragma once

#include <stddef.h>

struct suggestion {
    const char *word; // what was written
    const char *best; // NULL while nothing is near enough
    size_t distance;
};

void suggest_init(struct suggestion *s, const char *word);
void suggest_offer(struct suggestion *s, const char *candidate);

// "; did you mean 'x'?", or "" when nothing was near. Valid until the next call
// with the same buffer.
const char *suggest_text(const struct suggestion *s, char *text, size_t size);
