// A comparison as people and programs read it. Each appends to `out`, false when
// it is full.
#pragma once

#include "base/buf.h"
#include "compare/compare.h"

bool print_terminal(const struct comparison *c, struct buf *out);
bool print_markdown(const struct comparison *c, struct buf *out);

// customSmallerIsBetter, which trend tools read: an array of name, unit, value,
// range. The new side's medians; rates are left out, being better when larger.
bool print_json(const struct comparison *list, size_t count, struct buf *out);

bool print_csv(const struct comparison *list, size_t count, struct buf *out);
