// Keeps the results of the scenarios that one command runs: shows them in a live table on a
// terminal, and prints a table of verdicts at the end.
//
// The live table is on stderr, below all other output. It moves the cursor only over its own lines
// and changes nothing else, so that the terminal stays usable if the program ends.
#pragma once

#include "check/check.h"
#include "report/progress.h"

#define SUITE_BROKE 160    // bytes of a text that says what broke
#define SUITE_WHY 1024     // bytes of a text that says why a run was skipped or failed
#define SUITE_SEVERITIES 5 // results of suite_severity: one for each verdict, one for a failed run

enum suite_state { SUITE_WAITS, SUITE_RUNS, SUITE_JUDGED, SUITE_SKIPPED, SUITE_FAILED };

struct suite_row {
    const char *name;   // borrowed
    int64_t planned_ns; // the length of one run: load and faults
    int runs;           // the number of its runs here; 0: other shards have all of them
    int done, passed;   // how many of these are over, and how many of those passed
    bool failed;        // at least one of its runs failed
    enum suite_state state;
    enum verdict verdict;                    // worst verdict so far
    int64_t took_ns;                         // time that its finished runs took together
    double lost, duplicated, p50_ms, p99_ms; // sums of lost and duplicated, largest latencies; NAN:
                                             // nothing measured
    char broke[SUITE_BROKE]; // what broke in the last run with the worst verdict, or why that run
                             // is inconclusive
};

// The result of one run. A soak of weeks keeps thousands of these structs, so long texts are
// allocated.
struct suite_run {
    const char *scenario;   // borrowed
    enum suite_state state; // SUITE_JUDGED, SUITE_SKIPPED or SUITE_FAILED
    enum verdict verdict;
    int64_t took_ns;
    double lost, duplicated, p50_ms, p99_ms;
    char broke[SUITE_BROKE]; // what broke, with counts, or why it is inconclusive; "": not judged,
                             // or nothing broke
    char *folder;            // its result folder; "" when there is none
    char *why;               // why it was skipped or failed
};

// The time that a run is expected to take beyond its load and faults, until finished runs show it.
#define SUITE_OVERHEAD_NS (3 * NS_PER_S)

struct suite {
    struct suite_row *rows; // owned
    size_t count, running;  // number of rows; index of the row whose run goes on
    struct suite_run *runs; // owned, with their texts; the runs that are over, in their order
    size_t run_count;
    size_t not_run;        // scenarios that the command did not come to
    const char *out;       // borrowed; the folder that holds the result folders
    const char *gaps;      // borrowed; which parts of the suite are missing; NULL or "": none
    bool soak;             // its runs are the segments of a soak
    bool live;             // true: the live table is drawn
    struct progress shown; // progress of the running scenario
    int64_t run_began_ns;
    struct buf text;       // text of one drawing of the table
    size_t drawn;          // number of the live table's lines on the terminal; 0: it is not there
    unsigned short *width; // owned; width in columns of each of these lines
};

// Makes a suite. `live` asks for the live table, which is drawn only if stderr is a terminal that
// can show it.
void suite_init(struct suite *s, size_t rows, bool live);
void suite_fini(struct suite *s);

// Begins a run of this row. suite_show shows how far that run has come.
void suite_begin(struct suite *s, size_t row);
void suite_show(struct suite *s, const struct progress *p);
// Ends the running row's run, and copies its texts.
void suite_end(struct suite *s, const struct suite_run *run);

// Adds two figures; one that is NAN, not measured, is left out.
double suite_sum(double a, double b);

// Returns how bad a verdict is: 0 pass, more for a worse one.
int suite_severity_of(enum verdict verdict);

// Returns how bad a run is: 0 passed or skipped, SUITE_SEVERITIES - 1 failed.
int suite_severity(const struct suite_run *run);

// Returns in a word how a run ended: its verdict, "skipped" or "failed".
const char *suite_run_name(const struct suite_run *run);

// Removes the live table, so that something can be printed. suite_show draws it again.
void suite_hide(struct suite *s);

// Writes how many runs passed, how many ended otherwise, and what the command did not come to: "40
// of 52 runs passed, 12 violated, 0 skipped".
void suite_print_counts(const struct suite *s, struct buf *out);

// Prints one row for each scenario of which a run is over, then the counts.
void suite_print(const struct suite *s, FILE *out);
