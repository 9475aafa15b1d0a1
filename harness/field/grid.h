// The table of `mailproof field`: a row for each subject, a cell for each question. The verdicts
// about faults and the speeds are printed as two tables, because speeds depend on the machine and
// on how a queue notices new jobs.
#pragma once

#include "subject/manifest.h"

enum cell_mark {
    CELL_EMPTY, // nothing was measured; the cell's text says why
    CELL_FIGURE,
    CELL_KEPT,
    CELL_BROKEN,
    CELL_DOUBTFUL, // all runs were inconclusive, or only one run broke a promise
    CELL_OTHER,    // what was seen is documented by the queue, or not promised
};

struct cell {
    enum cell_mark mark;
    char text[200];
    char command[700]; // the command that repeats the run; "" when nothing was run
    int broken;        // the promises that the runs broke: bits of enum promise
    char told[900];    // when a promise is broken: the outcome of each seed; else ""
};

struct grid_row {
    char name[64], version[64], mode[500]; // mode: in words, how the subject is run
    bool ours;                // mailproof's own collector, which is shown last and apart
    struct manifest manifest; // owned; for mailproof's own collector, only `promises`, `wakes`
                              // and `concurrency` are set
    char runtime[80];         // the version of the subject's language; "" when not known
    char absent[300];         // why the subject cannot be run; "" when it can
    struct cell *cells;
};

struct grid {
    const char *const *titles; // titles of the columns, borrowed
    size_t columns;
    size_t speeds;         // number of columns that are speeds, the last ones
    struct grid_row *rows; // owned; so are the cells of each row
    size_t row_count;
    char when[32], machine[200], program[300]; // days, machine and versions that made the runs
    char since[11], until[11];                 // first and last day of the answers; "": none yet
    const char *gaps;  // what is missing in the table, as text, borrowed; NULL or "": nothing
    char postgres[32]; // the server's version; "" when no run was made
};

void grid_init(struct grid *g, const char *const *titles, size_t columns, size_t rows);
void grid_fini(struct grid *g);

// Appends the table as text for a terminal: a block for each subject and a line for each cell; with
// `commands`, also the command of each cell.
void grid_text(const struct grid *g, bool commands, struct buf *out);

// Appends the table as Markdown: the verdicts, the speeds, what was broken, and the commands.
void grid_markdown(const struct grid *g, struct buf *out);
