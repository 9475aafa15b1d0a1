#include "scenario/suggest.h"

#include <stdio.h>
#include <string.h>

static size_t min3(size_t a, size_t b, size_t c)
{
    size_t least = a < b ? a : b;

    return least < c ? least : c;
}

// Computes the Levenshtein distance, one row of the table at a time.
static size_t edit_distance(const char *a, const char *b)
{
    size_t row[SUGGEST_WORD_MAX + 1], len = strlen(b);

    for (size_t j = 0; j <= len; j++)
        row[j] = j;
    for (size_t i = 1; a[i - 1]; i++) {
        size_t diagonal = row[0];
        row[0] = i;
        for (size_t j = 1; j <= len; j++) {
            size_t above = row[j];
            row[j] = min3(above + 1, row[j - 1] + 1, diagonal + (a[i - 1] != b[j - 1]));
            diagonal = above;
        }
    }
    return row[len];
}

void suggest_init(struct suggestion *s, const char *word)
{
    // A third of the letters may be wrong, at most three.
    size_t limit = strlen(word) / 3 + 1;

    *s = (struct suggestion){.word = word, .distance = limit < 3 ? limit + 1 : 4};
}

void suggest_offer(struct suggestion *s, const char *candidate)
{
    if (strlen(s->word) > SUGGEST_WORD_MAX || strlen(candidate) > SUGGEST_WORD_MAX)
        return;
    size_t distance = edit_distance(s->word, candidate);
    if (distance < s->distance && distance < strlen(candidate)) {
        s->distance = distance;
        snprintf(s->best, sizeof s->best, "%s", candidate);
    }
}

const char *suggest_text(const struct suggestion *s, char *text, size_t size)
{
    if (!*s->best)
        return "";
    snprintf(text, size, "; did you mean '%s'?", s->best);
    return text;
}
