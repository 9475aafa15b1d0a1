// Prints a comparison for people and programs. The functions append to `out`; those that return a
// bool return false when it is full.
#pragma once

#include "compare/compare.h"

// A row's figures as text.
struct print_cells {
    char base[48], new[48], ratio[32], interval[32], p[16];
};
void print_cells(const struct compared *row, struct print_cells *cells);

// The parts that the forms share: the numbers of runs, the finding in one sentence, the rates of
// failure.
void print_compared_counts(const struct comparison *c, struct buf *out);
void print_comparison_verdict(const struct comparison *c, struct buf *out);
void print_correctness(const struct comparison *c, struct buf *out);

bool print_terminal(const struct comparison *c, struct buf *out);
bool print_markdown(const struct comparison *c, struct buf *out);

// Prints JSON in the form customSmallerIsBetter, which trend tools read: an array of name, unit,
// value, range. The values are the new side's medians. Rates are left out, because larger ones are
// better, and so are medians that are not known.
bool print_json(const struct comparison *list, size_t count, struct buf *out);

bool print_csv(const struct comparison *list, size_t count, struct buf *out);
