// Pages: a template with marks such as {{rows}}, which code fills in, and the style that all share.
#pragma once

#include "base/buf.h"

#define TEMPLATE_END (-1)

// Appends the template from *rest up to its next mark, and moves *rest behind the mark. Returns the
// mark's place in `names` (NULL-terminated), or TEMPLATE_END when the template is over. Fills in
// {{style}} by itself. The templates are our own, so each mark is one of the names.
int template_next(struct buf *out, const char **rest, const char *const *names);
