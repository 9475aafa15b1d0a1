// Investigates draws that broke something, called suspects. Each is run again, shrunk and named,
// and then joined with an equal failure if there is one. The search calls these functions between
// its runs.
#pragma once

#include "explore/exploring.h"

// Adds a draw that broke something, unless a known failure explains all that it broke; then its
// files are removed. `folder` holds the draw's result, `example` tells in words what went wrong.
void suspects_add(struct exploring *x, const struct tried *t, const char *draw_path,
    const char *folder, const char *example);

// Returns a suspect that needs a further run, and counts this run as under way; NULL when none
// needs one.
struct suspect *suspects_to_confirm(struct exploring *x);

// Takes the result of a further run; `t` is NULL when the run was not judged.
MUST_USE bool suspects_answer(
    struct exploring *x, struct suspect *s, const struct tried *t, struct err *e);

// Concludes suspects whose `mailproof shrink` has ended, and starts it for others while fewer than
// `places` such processes run. *shrinking gets the number of those that run.
MUST_USE bool suspects_shrink(struct exploring *x, int places, int *shrinking, struct err *e);

// Returns how many suspects are still under investigation.
size_t suspects_open(const struct exploring *x);

// Ends the running `mailproof shrink` processes and stores what is known about unfinished suspects.
MUST_USE bool suspects_end(struct exploring *x, struct err *e);
