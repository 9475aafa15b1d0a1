// Draws that broke something: each is run again, shrunk, named, and folded with its
// equals. One step at a time, between the draws.
#pragma once

#include "cli/exploring.h"

// A draw that broke something. Folds it at once when a failure that is known
// explains all of it. `folder` is its result.
MUST_USE bool suspects_add(struct exploring *x, const struct tried *t, const char *draw_path,
    const char *folder, const char *example, struct err *e);

// A run for the crew that a suspect waits for; NULL: none does.
struct suspect *suspects_to_confirm(struct exploring *x);

// What such a run came to; `t` is NULL when it was not judged.
MUST_USE bool suspects_answer(
    struct exploring *x, struct suspect *s, const struct tried *t, struct err *e);

// Starts as many searches for smaller scenarios as `places` allows; takes those that
// are over. Returns with the number that run in *shrinking.
MUST_USE bool suspects_shrink(struct exploring *x, int places, int *shrinking, struct err *e);

// Those that are still looked into.
size_t suspects_open(const struct exploring *x);

// Ends what runs, and writes down what is known of those that are not over.
MUST_USE bool suspects_end(struct exploring *x, struct err *e);
