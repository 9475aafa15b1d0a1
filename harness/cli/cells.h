// The cells of `mailproof field`: what is asked of each subject, and in which order.
#pragma once

#include "cli/options.h"
#include "field/answers.h"
#include "field/grid.h"

// How a subject is asked.
struct manner {
    int rate;         // the load that it sustains without a fault; 0: not even the lowest
    int drain_s;      // time for its own retry, as far as a run can wait for it
    double retry_s;   // when its retry comes, if a run cannot wait for it; 0: it can
    bool may_exit;    // it does not promise to survive the end of its session
    bool unreachable; // its paced run failed
};

struct field {
    const struct options *options;
    struct grid grid;
    struct manner *manners; // by row
    struct answers answers;
};

// Returns the title of a column; NULL behind the last one.
const char *cells_title(size_t column);

// Asks all questions of all subjects that are installed. Each question goes to all of them in turn,
// so that a machine that changes its speed changes it for all. If a question ends with an error,
// the answers so far stay.
MUST_USE bool cells_fill(struct field *f, struct err *e);
