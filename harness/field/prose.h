// The Markdown of a finding as JSON, which a page's template fills in: paragraphs, blocks of code,
// and in a paragraph bold words, code and links. Other Markdown stays as it is written.
#pragma once

#include <jansson.h>

// Returns an array of blocks. {"code": TEXT} is a block of code, {"spans": […]} a paragraph. A span
// has one of "plain", "bold" and "mono", or "words" and "url". NULL without memory.
json_t *prose_blocks(const char *text);
