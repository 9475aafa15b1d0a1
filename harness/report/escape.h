// Quotes text for XML, HTML, Markdown, links and shells.
#pragma once

#include "base/base.h"

// Appends text so that XML and HTML show it unchanged, in content and in attributes in double
// quotes (where XML makes blanks of line ends). What is no UTF-8 becomes '?', and so does a
// character below a blank, except a line end, and U+FFFE or U+FFFF.
void append_escaped(struct buf *out, const char *text);

// Appends text so that GitHub's Markdown shows it unchanged, also in a table and at the start of a
// line; only line ends become blanks. But GitHub may make links of @names and #numbers, and
// pictures of :words:, and no escape prevents that.
void append_markdown(struct buf *out, const char *text);

// Appends the address of a page as a link of Markdown that shows the address; any other text as
// append_markdown does.
void append_markdown_url(struct buf *out, const char *url);

// Appends text as a code span of Markdown.
void append_code(struct buf *out, const char *text);

// Appends a relative path as the address of a link: all but letters, digits and -._~/ becomes %XX,
// such as %20 for a blank.
void append_url(struct buf *out, const char *path);

// Appends a word, in quotes when a shell would split or change it.
void append_word(struct buf *out, const char *word);
