// The trade-off, in the terminal and as files for people and programs.
#pragma once

#include "tune/tune.h"

bool export_markdown(const struct tune *t, struct buf *out);
bool export_json(const struct tune *t, struct buf *out);
bool export_csv(const struct tune *t, struct buf *out);

// Writes one self-contained page with a heat map for each figure.
bool export_html(const struct tune *t, struct buf *out);

// Appends an SVG: tokens a batch to the right, the latency that is asked for upwards, both
// logarithmic. Appends nothing when fewer than two pairs were measured.
void scatter_print(const struct tune *t, struct buf *out);

// Prints a row for each pair.
bool print_table(const struct tune *t, struct buf *out);

// Prints p99 and tokens per batch as two tables, with a row for each limit and a column for each
// timeout. With `colours` (256-colour codes), green marks good values and red marks bad ones.
bool print_heat_maps(const struct tune *t, bool colours, struct buf *out);
