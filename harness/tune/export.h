// Writes the trade-off as files for people and programs.
#pragma once

#include "tune/tune.h"

bool export_markdown(const struct tune *t, struct buf *out);
bool export_json(const struct tune *t, struct buf *out);
bool export_csv(const struct tune *t, struct buf *out);

// Writes one self-contained page with a heat map for each figure.
bool export_html(const struct tune *t, struct buf *out);
