// Fills in the cells of `mailproof field`: asks each subject the questions, in a fixed order.
#pragma once

#include "options/options.h"
#include "field/answer_file.h"
#include "field/grid.h"
#include "field/outcome.h"

// How the questions are put to one subject, and what it promises.
struct manner {
    int rate;    // jobs a second that the subject sustains while no fault is injected; 0: it does
                 // not sustain even the lowest rate that is tried
    int drain_s; // time after the load, in which the subject can finish its jobs and retries
    int claim_s; // how long a job belongs to the worker that took it; 0: for ever
    struct terms terms; // what the subject promises and documents
    bool unreachable;   // true: a run without a fault could not be made, so nothing more is asked
};

struct field_run {
    const struct options *options;
    struct grid grid;
    struct manner *manners; // owned; one for each row of the grid
    struct answer_file answers;
    struct record record; // what this shard has run; each subject is an item
    uint64_t *items;      // owned; the number of the item in `record`, for each row of the grid
    size_t done, planned; // numbers of runs, including those whose answer was stored before
    size_t runs;          // for the progress: number of runs that were really made this time
    int64_t spent_ns;     // time spent on `runs`
};

// Returns the title of a column; NULL after the last column. The last cells_speeds columns are
// speeds.
const char *cells_title(size_t column);
extern const size_t cells_speeds;

// Asks all questions of all subjects that are installed. Each question is put to all subjects in
// turn, so that a change in the machine's speed affects all of them. False only after a signal; the
// cells filled in so far stay.
MUST_USE bool cells_fill(struct field_run *f, struct err *e);
