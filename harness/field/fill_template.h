// Fills a page's template from a JSON value.
//
//   {{name}}               the member's text, escaped; a number as it is
//   {{#name}}…{{/name}}    once for each item of a list, or once when the member is true or a text
//                          that is not empty; inside, the item's members come before those around
//                          it
//   {{^name}}…{{/name}}    when it is absent, false, or empty
//   {{style}}              the style that all pages share
#pragma once

#include <jansson.h>

#include "base/buf.h"

// The templates are our own, so a section without its end is a bug.
void fill_template(struct buf *out, const char *page, const json_t *root);
