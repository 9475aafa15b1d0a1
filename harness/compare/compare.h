// Compares two sets of runs of one scenario: better, worse, no difference, or unknown. Pure.
//
// Each run counts as one value. Its thousands of tokens do not count one by one, because they share
// the state of the machine and so are not independent.
//
// Correctness comes first, compared as rates of runs. Speed is judged by a few metrics; the more
// metrics there are, the stricter is the test of each (Bonferroni). When both sides are alike, all
// tests together say worse in at most 5% of comparisons, and better in at most 5%.
#pragma once

#include "measure/stats.h"
#include "report/files/stored.h"

struct side {
    const char *name;
    struct stored *runs; // owned
    size_t count;
    size_t interrupted; // number of runs that were left out because a person ended them
};

enum change {
    CHANGE_NONE, // equal within the margin; for correctness: both sides fail alike, or not at all
    CHANGE_BETTER,
    CHANGE_WORSE,
    CHANGE_UNKNOWN, // none of these is certain
};

// One metric of speed or cost.
struct compared {
    enum metric_id id;
    bool more_is_better;
    double base, new; // medians of the runs; INFINITY: not known, because at least half of the
                      // side's runs were inconclusive
    struct stats_ratio ratio; // ratio new / base; its interval has the test's confidence
    enum change change;
};

#define COMPARED_MAX 8
#define COMPARED_NOTES 4

// The ways in which runs fail: an enum metric_id for each invariant, and the following two.
#define FAILURE_INCONCLUSIVE METRIC_COUNT    // the run was inconclusive
#define FAILURE_OTHERWISE (METRIC_COUNT + 1) // violated, but no invariant was broken
#define FAILURES (METRIC_COUNT + 2)

// How many runs of a side failed.
struct failed {
    size_t runs;           // number of all runs of the side
    size_t any;            // number of runs that failed in any way
    size_t hits[FAILURES]; // number of runs that failed in each way
};

struct comparison {
    const char *scenario;
    const struct side *base, *new;
    struct failed base_failed, new_failed;
    enum change correctness;
    double unseen; // with 95% confidence, the highest failure rate that a side without a failed run
                   // can have
    struct compared rows[COMPARED_MAX];
    size_t row_count;
    double confidence; // confidence of each row's interval
    double margin;     // share below which a change counts as no difference; 0.1: 10%
    bool too_few;      // true: too few runs to show any difference in speed, however large it is
    enum change overall;
    char notes[COMPARED_NOTES][480]; // other differences between the sides, in words
    size_t note_count;
};

// Compares two sides, whose runs are all of one scenario. Differences smaller than `margin` (0.1: a
// tenth) do not count, however certain they are. "No difference" means that the interval lies
// within the margin. An inconclusive run counts against its side: as a failure, and as slower than
// any other run. ERR_USAGE when a side has more than STATS_VALUES_MAX runs.
MUST_USE bool compare_sides(struct comparison *c, const struct side *base, const struct side *new,
    double margin, struct err *e);

// Returns the name of a way to fail, such as "lost", "inconclusive" or "violated".
const char *compare_failure_name(int failure);

// True when the run was violated, and not only by promises about time, which a busy machine alone
// can break.
bool compare_broke_more_than_timing(const struct stored *run);

// Returns the most important invariant that the run broke: lost mail first, promises about time
// last. METRIC_COUNT when it broke none.
enum metric_id compare_worst(const struct stored *run);

const char *change_name(enum change change);

// Returns the exit code of a comparison: 4 for worse, 2 for unknown, else 0.
int change_exit_code(enum change change);

// Adds a copy of the run.
void side_add(struct side *s, const struct stored *run);
void side_fini(struct side *s);

// --- compare_print.c ---------------------------------------------------------------
//
// Prints a comparison for people and programs. The functions append to `out`; those that return a
// bool return false when it is full.

// A row's figures as text.
struct print_cells {
    char base[48], new[48], ratio[32], interval[32], p[16];
};
void print_cells(const struct compared *row, struct print_cells *cells);

// The parts that the forms share: the numbers of runs, the finding in one sentence, the rates of
// failure.
void print_compared_counts(const struct comparison *c, struct buf *out);
void print_comparison_verdict(const struct comparison *c, struct buf *out);
void print_correctness(const struct comparison *c, struct buf *out);

bool print_terminal(const struct comparison *c, struct buf *out);
bool print_markdown(const struct comparison *c, struct buf *out);

// Prints JSON in the form customSmallerIsBetter, which trend tools read: an array of name, unit,
// value, range. The values are the new side's medians. Rates are left out, because larger ones are
// better, and so are medians that are not known.
bool print_json(const struct comparison *list, size_t count, struct buf *out);

bool print_csv(const struct comparison *list, size_t count, struct buf *out);

// --- picture.c ---------------------------------------------------------------------
//
// Shows comparisons as an HTML page that needs no other file: what changed, the ratios with their
// intervals as a picture, and each run as a dot.

// Appends the page; false when `out` is full.
bool picture_html(const struct comparison *list, size_t count, struct buf *out);

// Appends an SVG of both sides' latencies by percentile: a line at the median of the runs, and a
// band from the lowest run to the highest. Appends nothing when a side has no conclusive run with
// latencies.
void curves_print(const struct comparison *c, struct buf *out);

// --- setup.c -----------------------------------------------------------------------
//
// Checks whether runs may be compared: they need the same scenario and the same rules. Notes what
// else differs, such as machine and server. Reads their result folders.

// Compares all runs with the first run of the base, which must be there. ERR_USAGE says why they
// cannot be compared:
// - a key of the scenario, other than those of `may_differ` in setup.c, has another value;
// - a run was judged by other rules;
// - a run was made in another mode: --every-cut, --every-kill, or neither of them.
MUST_USE bool setup_check(const struct side *base, const struct side *new, struct err *e);

// Adds a sentence to c->notes for each permitted difference: the seeds of all runs; machine, server
// and mailproof's version of each side's first run, which stands for the others.
void setup_notes(struct comparison *c);

// Appends the first few keys that differ between two resolved scenarios and may not, such as
// "load.0.rate: 200/s in base, 300/s in new", and returns how many there are. Pure.
size_t setup_differences(
    const char *base, size_t base_len, const char *new, size_t new_len, struct buf *out);

// --- stored runs by their folders ----------------------------------------------------

// Adds every run at or below `path`: a result folder, the `latest` link to one, or folders of
// results, down to GATHER_LEVELS (report/gather.h). An interrupted run is only counted. ERR_USAGE
// when there is no result.
MUST_USE bool collect_runs(struct side *s, const char *path, struct err *e);

// Adds those runs of `all` that are of one scenario.
void collect_scenario(struct side *s, const struct side *all, const char *scenario);
