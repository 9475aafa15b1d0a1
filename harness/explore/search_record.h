// The journal: what a search has done so far, in memory and as its record (shards/shard_record.h).
// So the results of several calls and of several machines add up. The record has a line for each
// draw, each failure that was investigated, and each call.
//
// The list of failures follows from the record alone and does not depend on the order in which the
// draws were run: a draw shows something new unless a failure of a lower draw number explains all
// that the draw broke.
#pragma once

#include "explore/tried.h"
#include "plan/plan.h"
#include "shards/shard_record.h"

// --- coverage.c --------------------------------------------------------------------
//
// Counts what the draws so far have covered: which faults met which state of the collector's
// connection, which faults overlapped, and in which modes faults took effect. Pure.

struct coverage {
    unsigned states[DRAW_VERBS_MAX][EXCHANGE_STATES]; // how often a fault (index into verbs[]) met
                                                      // a state of the connection
    unsigned pairs[DRAW_VERBS_MAX][DRAW_VERBS_MAX];   // [a][b] with a < b: how often these two
                                                      // faults overlapped
    unsigned modes[MODES][DRAW_VERBS_MAX];            // how often a fault took effect in each mode
    unsigned draws[MODES];                            // number of draws in each mode
};

// Counts what a draw that was judged has covered.
void coverage_add(struct coverage *c, const struct tried *t);

// Returns how much a scenario would add to the coverage, judging by its plan. Scenarios that add
// more are run earlier. It is not known beforehand which state of the connection a fault will meet,
// so a fault that has met few states so far adds more.
unsigned coverage_gain(const struct coverage *c, const struct scenario *s, const struct plan *plan);

// How many cells of a table were seen at least once, and how many cells there are; only verbs that
// the limits allow count.
struct coverage_share {
    size_t seen, of;
};
struct coverage_share coverage_states(const struct coverage *c, const struct draw_limits *limits);
struct coverage_share coverage_pairs(const struct coverage *c, const struct draw_limits *limits);
struct coverage_share coverage_modes(const struct coverage *c, const struct draw_limits *limits);

#define JOURNAL_WHYS_MAX 12

// A reason why draws were inconclusive or not judged, and the number of these draws.
struct journal_why {
    char text[160];
    unsigned count;
};

struct journal {
    struct record record;
    struct coverage coverage;
    struct failure *found; // owned; each failure that was investigated, sorted by draw number
    size_t found_count;
    struct tried *broke; // owned; each draw that broke something, sorted by number
    size_t broke_count;
    struct failure *failures; // owned; the distinct failures, in the order in which a walk through
                              // the draws by number finds them
    size_t failure_count;
    uint64_t *numbers;                         // owned; the numbers of the draws that were tried
    size_t tried;                              // length of `numbers`. A draw that --only runs again
                                               // is there twice, and counts twice below
    size_t verdicts[VERDICT_MISSED + 1];       // number of judged draws by verdict
    size_t unjudged;                           // number of draws that were not judged, because the
                                               // harness could not run them
    struct journal_why whys[JOURNAL_WHYS_MAX]; // why draws were inconclusive or not judged
    size_t why_count;
    size_t calls;
    double spent_s; // seconds that the ended calls took
};

// Opens the record in the folder and reads what is there; folder NULL: the record is kept in memory
// only. ERR_USAGE when the record belongs to a search with other settings. Call journal_close also
// on failure.
MUST_USE bool journal_open(
    struct journal *j, const char *folder, const struct record_head *head, struct err *e);
void journal_close(struct journal *j);

// True when the draw with this number was tried.
bool journal_has(const struct journal *j, uint64_t number);

// Adds a draw that was run.
MUST_USE bool journal_add(struct journal *j, const struct tried *t, struct err *e);

// Adds a failure that was investigated. It replaces an earlier failure of the same draw.
MUST_USE bool journal_found(struct journal *j, const struct failure *f, struct err *e);

// True when a failure of a lower draw number explains all that the draw broke.
bool journal_explains(const struct journal *j, const struct tried *t);

// Returns the failure with this name; NULL when there is none.
struct failure *journal_failure(struct journal *j, const char *name);

// Records the end of this call, which took took_s seconds.
MUST_USE bool journal_end(struct journal *j, double took_s, struct err *e);

// Makes the journal anew from the record's lines, sorted by draw number, so that a page does not
// depend on the order in which draws ended.
MUST_USE bool journal_sort(struct journal *j, struct err *e);

// --- a failure -----------------------------------------------------------------------

// A failure that was found. Its name consists of what broke, of the verbs of the faults that are
// needed for it, and of the mode if it is not MODE_CURSOR, as far as they fit; so equal failures
// get the same name.

#define FAILURE_NAME_MAX 64

struct failure {
    char name[FAILURE_NAME_MAX + 1]; // file name of its scenario, without .yaml
    bool broken[METRIC_COUNT];
    bool verbs[DRAW_VERBS_MAX]; // by index into verbs[]: the verbs that its scenario has
    enum mode mode;
    uint64_t draw;             // the number of the draw that showed it; of several, the lowest
    unsigned confirmed, asked; // numbers of the further runs: those that failed again, and all
    unsigned again;            // number of other draws that showed it; not in the record
    double found_s;            // seconds since the search began, over all calls
    char file[FAILURE_NAME_MAX + 20]; // path of its scenario, relative to the folder of the search
    char example[256];                // one example of what went wrong, in words
};

// Fills in broken, verbs, mode, name and file, from what broke and from the failure's scenario.
void failure_describe(struct failure *f, const struct scenario *s, const bool broken[METRIC_COUNT]);

// True when the failure explains all that a draw broke: the draw breaks the same invariants, has at
// least the failure's verbs, and uses the same dequeue mode. A failure that never came again
// explains nothing.
bool failure_explains(const struct failure *f, const struct tried *t);

// Convert a failure to a JSON object, and back.
json_t *failure_write(const struct failure *f);
MUST_USE bool failure_read(struct failure *f, const json_t *line, struct err *e);
