// Writes a page about a search, and a few lines for the terminal: what was tried, covered and
// found.
#pragma once

#include "base/buf.h"
#include "explore/search_record.h"

struct page {
    const struct journal *journal;
    uint64_t seed;
    const char *collector; // "": the scenario names it
    const struct draw_limits *limits;
    double spent_s;  // seconds that all calls took together
    const char *dir; // the folder of the search
};

bool page_html(const struct page *p, struct buf *out);
bool page_text(const struct page *p, struct buf *out);
