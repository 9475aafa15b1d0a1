// The table of `mailproof field`: a row for each subject, a cell for each question. The verdicts
// about faults and the speeds are two tables, because the speeds depend on the machine and on how
// a queue wakes.
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "base/err.h"
#include "subject/manifest.h"

enum cell_mark {
    CELL_EMPTY, // nothing was measured; the cell's text says why
    CELL_FIGURE,
    CELL_KEPT,
    CELL_BROKEN,
    CELL_DOUBTFUL, // the run was inconclusive, or only one of several runs broke a promise
    CELL_OTHER,    // as documented, or not promised
};

struct cell {
    enum cell_mark mark;
    char text[200];
    char command[700]; // command that repeats the run; "" when nothing was run
    int broken;        // the promises that the runs broke: bits of enum promise
    char told[900];    // when a promise is broken: the outcome of each seed; else ""
};

struct grid_row {
    char name[64], version[64], mode[500];
    bool ours;                // our own collector, which stands last and apart
    struct manifest manifest; // owned; of our own collector, only its promises
    char runtime[80];         // the version of its language; "" when not known
    char absent[300];         // why the subject cannot be run; "" when it can
    struct cell *cells;
};

struct grid {
    const char *const *titles; // titles of the columns, borrowed
    size_t columns;
    size_t speeds;         // the last so many columns are speeds
    struct grid_row *rows; // owned, like their cells
    size_t row_count;
    char when[32], machine[200], program[100];
    const char *gaps;  // which rows are missing, borrowed; NULL or "": none
    char postgres[32]; // the server's version; "" when no run was made
};

MUST_USE bool grid_init(
    struct grid *g, const char *const *titles, size_t columns, size_t rows, struct err *e);
void grid_fini(struct grid *g);

// Appends the table for a terminal, a block for each subject; with `commands` each cell's command.
void grid_text(const struct grid *g, bool commands, struct buf *out);

// Appends both tables, what was broken, and the commands.
void grid_markdown(const struct grid *g, struct buf *out);
