// Fills in the templates of pages. A template has marks such as {{rows}}, and all pages share one
// style.
#pragma once

#include "base/base.h"

#define TEMPLATE_END (-1)

// Appends the template from *rest up to its next mark, and moves *rest to after the mark. Returns
// the mark's index in `names` (NULL-terminated), or TEMPLATE_END at the end of the template. Fills
// in {{style}} by itself. The templates are our own, so each other mark is one of the names.
int template_next(struct buf *out, const char **rest, const char *const *names);
