// Prints the trade-off in the terminal.
#pragma once

#include "tune/tune.h"

// Prints a row for each pair.
bool print_table(const struct tune *t, struct buf *out);

// Prints p99 and tokens per batch as two tables, with a row for each limit and a column for each
// timeout. With `colours` (256-colour codes), green marks good values and red marks bad ones.
bool print_heat_maps(const struct tune *t, bool colours, struct buf *out);
