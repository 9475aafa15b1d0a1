// Text inside of other languages.
#pragma once

#include "base/buf.h"

// For the content and the attributes of XML and HTML.
void append_escaped(struct buf *out, const char *text);

// A relative path as a link.
void append_url(struct buf *out, const char *path);
