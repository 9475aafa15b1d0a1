#include "scenario/suggest.h"

static size_t min_size(size_t a, size_t b)
{
    return a < b ? a : b;
}

// Counts the letters that are wrong, missing, too many or swapped with their neighbour (optimal
// string alignment).
static size_t edit_distance(const char *a, const char *b)
{
    // d[i][j] is the distance between the first i letters of `a` and the first j of `b`.
    size_t d[SUGGEST_WORD_MAX + 1][SUGGEST_WORD_MAX + 1];
    const size_t rows = strlen(a), columns = strlen(b);

    for (size_t i = 0; i <= rows; i++)
        d[i][0] = i;
    for (size_t j = 0; j <= columns; j++)
        d[0][j] = j;
    for (size_t i = 1; i <= rows; i++) {
        for (size_t j = 1; j <= columns; j++) {
            d[i][j] = min_size(d[i - 1][j], d[i][j - 1]) + 1;
            d[i][j] = min_size(d[i][j], d[i - 1][j - 1] + (a[i - 1] != b[j - 1]));
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
                d[i][j] = min_size(d[i][j], d[i - 2][j - 2] + 1);
        }
    }
    return d[rows][columns];
}

void suggest_init(struct suggestion *s, const char *word)
{
    // A third of the letters may be wrong, at least one and at most three. suggest_offer takes only
    // what is nearer than `distance`.
    size_t wrong = min_size(strlen(word) / 3, 3);

    *s = (struct suggestion){.word = word, .distance = (wrong > 0 ? wrong : 1) + 1};
}

void suggest_offer(struct suggestion *s, const char *candidate)
{
    if (strlen(s->word) > SUGGEST_WORD_MAX || strlen(candidate) > SUGGEST_WORD_MAX)
        return;
    size_t distance = edit_distance(s->word, candidate);
    // A candidate of which every letter would be wrong is not near.
    if (distance < s->distance && distance < strlen(candidate)) {
        s->distance = distance;
        snprintf(s->text, sizeof s->text, "; did you mean '%s'?", candidate);
    }
}
