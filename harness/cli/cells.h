// The cells of `mailproof field`: the questions for each subject, and their order.
#pragma once

#include "cli/options.h"
#include "field/answers.h"
#include "field/grid.h"

// How the questions are put to a subject.
struct manner {
    int rate;         // the load that it sustains without a fault; 0: it sustains not even the
                      // lowest
    int drain_s;      // time in which it may retry, as far as a run can wait for that
    double retry_s;   // time after which it retries, if a run cannot wait that long; else 0
    bool may_exit;    // true: it does not promise to survive the end of its session
    bool unreachable; // true: its paced run failed
};

struct field {
    const struct options *options;
    struct grid grid;
    struct manner *manners; // by row of the grid
    struct answers answers;
};

// Returns the title of a column; NULL behind the last column.
const char *cells_title(size_t column);

// Asks all questions of all subjects that are installed. Each question goes to all subjects in
// turn, so that a change in the machine's speed concerns all of them. If a question ends with an
// error, the answers so far stay.
MUST_USE bool cells_fill(struct field *f, struct err *e);
