// Finds the result folders at or below a path.
#pragma once

#include "base/base.h"

// Result folders are looked for down to this many levels below the path, which is as deep as
// `compare --ab` and `explore` put them: compare/TIME/SIDE/SCENARIO/RUN. The limit keeps a path
// such as / from being searched whole.
#define GATHER_LEVELS 5

struct gathered {
    char **folders; // owned; each begins with the path that the caller gave
    size_t count;
};

// Finds the folders that hold a result.json, the newest first, by their names, which begin with the
// time of the run. `path` may be a link. Links below it are not followed, so that `latest` does not
// count a run twice. An empty list is no error.
MUST_USE bool gather_results(struct gathered *g, const char *path, struct err *e);
void gather_fini(struct gathered *g);
