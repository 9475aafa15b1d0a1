// The table of a pair's figures, which the terminal, the page and the files share.
#pragma once

#include "tune/tune.h"

enum tune_figure {
    FIGURE_P50,
    FIGURE_P99,
    FIGURE_TOKENS,
    FIGURE_ROUND_TRIPS,
    FIGURE_WAL,
    FIGURE_BACKEND_CPU,
    FIGURE_COLLECTOR_CPU,
    FIGURE_MODEL_P50,
    FIGURE_MODEL_TOKENS,
    FIGURE_COUNT,
};

// Number of figures that tables show. The later figures are only in the files.
#define FIGURE_SHOWN FIGURE_MODEL_P50

struct figure_text {
    const char *key;           // the figure's name in JSON and CSV
    const char *above, *below; // its heading on two lines
    const char *title;         // its heading on one line
    const char *help;
    int digits; // after the point
    bool more_is_better;
};

extern const struct figure_text figure_texts[FIGURE_COUNT];

// Returns a pair's figure; NAN when it was not measured.
double figure_of(const struct tune_pair *p, enum tune_figure figure);

// Rates a pair's figure by its ratio to the best of all pairs: 0 is the best, 1 the worst. If the
// worst is less than twice as bad as the best, 1 stands for twice as bad. NAN when the figure was
// not measured.
double figure_heat(const struct tune *t, const struct tune_pair *p, enum tune_figure figure);

// Appends the value with the figure's digits, or `none` when it was not measured.
void figure_print(
    const struct tune_pair *p, enum tune_figure figure, const char *none, struct buf *out);

// Appends the value with three digits, or with all digits before the point if these are more;
// `none` when it was not measured.
void figure_print_short(
    const struct tune_pair *p, enum tune_figure figure, const char *none, struct buf *out);

// Returns the pair with this limit and timeout; NULL when the grid has none.
const struct tune_pair *figure_pair_at(const struct tune *t, int limit, int64_t timeout_ns);

// The values on the grid's axes, each value once and in the order of the pairs.
struct figure_axes {
    size_t rows, columns;
    int limits[TUNE_PAIRS_MAX];
    int64_t timeouts_ns[TUNE_PAIRS_MAX];
};
struct figure_axes figure_axes(const struct tune *t);
