// The trade-off in the terminal.
#pragma once

#include "tune/tune.h"

// Prints a row for each pair.
bool print_table(const struct tune *t, struct buf *out);

// Limits down, timeouts across: p99 and tokens per batch. With `colours` (of 256)
// green is better and red is worse; without them the same in plain text.
bool print_heat_maps(const struct tune *t, bool colours, struct buf *out);
