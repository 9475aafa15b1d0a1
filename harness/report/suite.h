// Runs several scenarios in one command: shows a live table on a terminal, and prints a table of
// verdicts at the end.
//
// The live table is on stderr, below all other output. It moves the cursor only over its own lines
// and changes nothing else, so that the terminal stays usable if the program ends.
#pragma once

#include <stdint.h>
#include <stdio.h>

#include "base/buf.h"
#include "check/check.h"
#include "report/progress.h"

enum suite_state { SUITE_WAITS, SUITE_RUNS, SUITE_JUDGED, SUITE_SKIPPED, SUITE_FAILED };

struct suite_row {
    const char *name;   // borrowed
    int64_t planned_ns; // the length of one run: load and faults
    int runs, done;     // the number of its runs, and how many of these are over
    int passed;
    enum suite_state state;
    enum verdict verdict;                    // worst verdict so far
    int64_t took_ns;                         // time that its finished runs took together
    double lost, duplicated, p50_ms, p99_ms; // sums of lost and duplicated, largest latencies; NAN:
                                             // nothing measured
};

struct suite {
    struct suite_row *rows; // owned
    size_t count, running;
    bool live;             // true: the table is drawn
    struct progress shown; // progress of the running scenario
    int64_t run_began_ns;
    struct buf text;       // text of one drawing of the table
    size_t drawn;          // number of lines that are on the terminal
    unsigned short *width; // owned; width in columns of each of these lines
};

// The result of one run.
struct suite_run {
    enum suite_state state; // SUITE_JUDGED, SUITE_SKIPPED or SUITE_FAILED
    enum verdict verdict;
    double lost, duplicated, p50_ms, p99_ms;
};

// Makes a suite. `live` asks for the live table, which is drawn only if stderr is a terminal that
// can show it.
MUST_USE bool suite_init(struct suite *s, size_t rows, bool live, struct err *e);
void suite_fini(struct suite *s);

void suite_begin(struct suite *s, size_t row);
void suite_show(struct suite *s, const struct progress *p);
void suite_end(struct suite *s, const struct suite_run *run);

// Removes the live table, so that something can be printed. suite_show draws it again.
void suite_hide(struct suite *s);

// Prints one row for each scenario.
void suite_print(const struct suite *s, FILE *out);
