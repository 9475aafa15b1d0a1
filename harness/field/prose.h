// Turns the Markdown of a finding into JSON for a page's template. It knows paragraphs, blocks of
// code, and, within a paragraph, bold words, code and links. Other Markdown stays as it is written.
#pragma once

#include <jansson.h>

// Returns an array of blocks. {"code": TEXT} is a block of code, {"spans": […]} a paragraph. A span
// is an object with one of the members "plain", "bold" and "mono", or with both "words" and "url".
// NULL when memory is short.
json_t *prose_blocks(const char *text);
