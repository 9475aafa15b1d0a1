// A comparison as people and programs read it. Each appends to `out`, false when
// it is full.
#pragma once

#include "base/buf.h"
#include "compare/compare.h"

// A row's figures as text.
struct print_cells {
    char base[48], new[48], ratio[32], interval[32], p[16];
};
void print_cells(const struct compared *row, struct print_cells *cells);

// What all of them say: which runs, what was found in one sentence, how often runs failed.
void print_counts(const struct comparison *c, struct buf *out);
void print_verdict(const struct comparison *c, struct buf *out);
void print_correctness(const struct comparison *c, struct buf *out);

bool print_terminal(const struct comparison *c, struct buf *out);
bool print_markdown(const struct comparison *c, struct buf *out);

// customSmallerIsBetter, which trend tools read: an array of name, unit, value,
// range. The new side's medians; rates are left out, being better when larger.
bool print_json(const struct comparison *list, size_t count, struct buf *out);

bool print_csv(const struct comparison *list, size_t count, struct buf *out);
