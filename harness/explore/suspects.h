// Investigates draws that broke something. Each is run again, shrunk and named, and then joined
// with an equal failure if there is one. Between two draws, one step of this is done.
#pragma once

#include "explore/exploring.h"

// Adds a draw that broke something, unless a known failure explains all of it. `folder` holds the
// draw's result.
void suspects_add(struct exploring *x, const struct tried *t, const char *draw_path,
    const char *folder, const char *example);

// Returns a suspect that needs a further run; NULL when none does.
struct suspect *suspects_to_confirm(struct exploring *x);

// Takes the result of such a run; `t` is NULL when the run was not judged.
MUST_USE bool suspects_answer(
    struct exploring *x, struct suspect *s, const struct tried *t, struct err *e);

// Collects finished searches for smaller scenarios, and starts new ones while fewer than `places`
// run. *shrinking gets the number of those that run.
MUST_USE bool suspects_shrink(struct exploring *x, int places, int *shrinking, struct err *e);

// Returns how many suspects are still under investigation.
size_t suspects_open(const struct exploring *x);

// Ends running searches and stores what is known about unfinished suspects.
MUST_USE bool suspects_end(struct exploring *x, struct err *e);
