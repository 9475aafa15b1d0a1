// Text inside of other languages; pages with marks to fill.
#pragma once

#include "base/buf.h"

// For the content and the attributes of XML and HTML.
void append_escaped(struct buf *out, const char *text);

// A relative path as a link.
void append_url(struct buf *out, const char *path);

// Appends a page up to the next mark such as {{rows}} and returns what comes
// behind it. Pages are our own: the mark is there.
const char *append_until(struct buf *out, const char *page, const char *mark);

// A word as a shell takes it: quoted where it would be more than one, or something
// else.
void append_word(struct buf *out, const char *word);
