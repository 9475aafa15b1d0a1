// Texts of the field. Markdown becomes JSON for a page's template: paragraphs, blocks of code, and,
// within a paragraph, bold words, code and links. Other Markdown stays as it is written.
#pragma once

#include <jansson.h>

// Returns an array of blocks. {"code": TEXT} is a block of code, {"spans": […]} a paragraph. A span
// is an object with one of the members "plain", "bold" and "mono", or with both "words" and "url".
json_t *prose_blocks(const char *text);

// Removes the folders from each path in the text, because a table is read on other machines:
// "/a/b/c.js:1 failed" becomes "c.js:1 failed".
void prose_drop_folders(char *text);
