// Prints the figures of all pairs: in the terminal, and as Markdown, JSON, CSV and HTML. A function
// returns false when the output does not fit the buffer.
#pragma once

#include "tune/tune.h"

bool export_markdown(const struct tune *t, struct buf *out);
bool export_json(const struct tune *t, struct buf *out);
bool export_csv(const struct tune *t, struct buf *out);

// Appends one self-contained page, with heat maps of the figures that were measured.
bool export_html(const struct tune *t, struct buf *out);

// Appends a scatter plot as SVG, with logarithmic axes: tokens a batch to the right, a latency
// upwards. This is the latency of the objective, or else the p99. Appends nothing when fewer than
// two pairs can be drawn.
void scatter_print(const struct tune *t, struct buf *out);

// Prints a row for each pair.
bool print_table(const struct tune *t, struct buf *out);

// Prints two tables, one of p99 and one of tokens per batch, with a row for each limit and a column
// for each timeout. With `colours` (256-colour codes), green marks good values and red marks bad
// ones.
bool print_heat_maps(const struct tune *t, bool colours, struct buf *out);
