// The table that `mailproof field` prints. It has a row for each subject and a cell for each
// question; each cell has the command that answers the question again. Pure.
#pragma once

#include <stddef.h>

#include "base/buf.h"
#include "base/err.h"

enum cell_mark {
    CELL_EMPTY, // nothing was measured; the cell's text says why
    CELL_FIGURE,
    CELL_GOOD,
    CELL_BAD,
    CELL_DOUBTFUL, // the run was inconclusive, or only one of several runs was bad
};

struct cell {
    enum cell_mark mark;
    char text[140];
    char command[700]; // command that repeats the run; "" when nothing was run
    char told[400];    // when the subject is convicted: the outcome of each seed; else ""
};

struct grid_row {
    char name[64], version[64], mode[300];
    char absent[300];     // why the subject cannot be run; "" when it can
    char documented[600]; // the promise that is judged; "" when there is none
    struct cell *cells;
};

struct grid {
    const char *const *titles; // titles of the columns, borrowed
    size_t columns;
    struct grid_row *rows; // owned, like their cells
    size_t row_count;
    char when[32], machine[200], server[64];
};

MUST_USE bool grid_init(
    struct grid *g, const char *const *titles, size_t columns, size_t rows, struct err *e);
void grid_fini(struct grid *g);

// Each of these appends the whole table with its commands.
void grid_text(const struct grid *g, struct buf *out);
void grid_markdown(const struct grid *g, struct buf *out);
void grid_html(const struct grid *g, struct buf *out);

// The outcome of a question about a fault.
struct fault_outcome {
    double lost, again, left, exits; // NAN: not known
    double recovery_ms;              // the longest recovery; NAN: nothing had to recover
    bool judged;                     // false: the run was inconclusive
    bool missed;                     // true: the fault found no target
    bool may_exit;                   // true: the queue does not promise to outlive its sessions
    double retry_s; // time after which the queue itself retries, if the run cannot wait that long;
                    // else 0
    int runs, bad;  // with several seeds: number of runs, and of bad ones; 0: there was one run
};

// True when the cell is marked as bad. Most queues promise delivery at least once, so repeated jobs
// are not bad.
bool fault_outcome_is_bad(const struct fault_outcome *o);

// Appends the outcome, such as "1 missing, 2 exits" or "ok".
void fault_outcome_tell(const struct fault_outcome *o, char *text, size_t size);

// Fills a cell with a text such as "ok, back in 0.2 s" or "3 missing, 2 again". If only one run of
// several was bad, the cell is marked as doubtful.
void grid_fault_cell(struct cell *c, const struct fault_outcome *o);
