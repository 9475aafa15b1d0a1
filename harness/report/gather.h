// The result folders at or below a path.
#pragma once

#include <stddef.h>

#include "base/err.h"

struct gathered {
    char **folders; // owned; each begins with the path that was named
    size_t count;
};

// Sorted by the time of the run, which is the folder's name: the newest first.
// A folder is one when it holds a result.json. The path itself may be a link; those
// below it are not followed, so that `latest` does not count twice. Finding none
// is no error.
MUST_USE bool gather_results(struct gathered *g, const char *path, struct err *e);
void gather_fini(struct gathered *g);
