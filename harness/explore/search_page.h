// Prints what a search has tried, covered and found: as a page, and as a few lines for the
// terminal.
#pragma once

#include "explore/search_record.h"

struct page {
    const struct journal *journal;
    uint64_t seed;
    const char *collector; // --collector; "": not given
    const struct draw_limits *limits;
    const char *dir; // the folder of the search
    bool conninfo;   // the runs needed --postgres CONNINFO
};

// Returns which collector was tested, in words.
const char *page_collector(const struct page *p);

// Append the page, and the lines for the terminal. False when the buffer is full or memory is
// short.
bool page_html(const struct page *p, struct buf *out);
bool page_text(const struct page *p, struct buf *out);
