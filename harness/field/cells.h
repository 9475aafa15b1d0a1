// The cells of `mailproof field`: the questions for each subject, and their order.
#pragma once

#include "options/options.h"
#include "field/answers.h"
#include "field/grid.h"
#include "field/outcome.h"

// How the questions are put to a subject.
struct manner {
    int rate;    // the load that it sustains without a fault; 0: it sustains not even the lowest
    int drain_s; // time in which it may retry, as far as a run can wait for that
    int claim_s; // how long a job belongs to the worker that took it; 0: no time ends that
    struct terms terms;
    bool unreachable; // true: its paced run failed
};

struct field_run {
    const struct options *options;
    struct grid grid;
    struct manner *manners; // by row of the grid
    struct answers answers;
    struct record record; // an item for each subject
    uint64_t *items;      // owned; by row of the grid: the number of its item
    size_t done, planned; // numbers of runs, with those whose answer was stored
    size_t runs;          // runs that were made now
    int64_t spent_ns;     // on these
};

// Returns the title of a column; NULL behind the last column. The last cells_speeds columns are
// speeds.
const char *cells_title(size_t column);
extern const size_t cells_speeds;

// Asks all questions of all subjects that are installed. Each question goes to all subjects in
// turn, so that a change in the machine's speed concerns all of them. If a question ends with an
// error, the answers so far stay.
MUST_USE bool cells_fill(struct field_run *f, struct err *e);
