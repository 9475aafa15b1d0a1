// What a search has done so far: in memory, and as its record (shards/shard_record.h), so that the
// results of several calls and of several machines add up. The record has a line for each draw,
// each failure that was looked into, and each call.
//
// The failures follow from the record alone, whatever the order in which the draws were run: a draw
// shows something new unless a failure of a lower number explains all that it broke.
#pragma once

#include "explore/coverage.h"
#include "explore/tried.h"
#include "shards/shard_record.h"

#define JOURNAL_WHYS_MAX 12

struct journal_why {
    char text[160];
    unsigned count;
};

struct journal {
    struct record record;
    struct coverage coverage;
    struct failure *found; // owned; each failure as it was looked into, by draw
    size_t found_count;
    struct tried *broke; // owned; each draw that broke something, by draw
    size_t broke_count;
    struct failure *failures; // owned; those that differ, by draw
    size_t failure_count;
    uint64_t *numbers; // owned; numbers of the draws that were tried
    size_t tried;
    size_t verdicts[VERDICT_MISSED + 1];
    size_t unjudged;                           // number of draws that the harness could not run
    struct journal_why whys[JOURNAL_WHYS_MAX]; // reasons of the draws that were inconclusive or not
                                               // judged
    size_t why_count;
    size_t calls;
    double spent_s; // seconds that the earlier calls took
};

// Opens the record in the folder and takes what is there; NULL: keeps it in memory. ERR_USAGE when
// it belongs to a search with other settings. Call journal_close also on failure.
MUST_USE bool journal_open(
    struct journal *j, const char *folder, const struct record_head *head, struct err *e);
void journal_close(struct journal *j);

bool journal_has(const struct journal *j, uint64_t number);

MUST_USE bool journal_add(struct journal *j, const struct tried *t, struct err *e);

// Adds a failure that was looked into, which replaces what is known about the same draw.
MUST_USE bool journal_found(struct journal *j, const struct failure *f, struct err *e);

// True when a failure of a lower number explains all that the draw broke.
bool journal_explains(const struct journal *j, const struct tried *t);

// Returns the failure of that name; NULL when there is none.
struct failure *journal_failure(struct journal *j, const char *name);

// Records the end of a call.
MUST_USE bool journal_end(struct journal *j, double took_s, struct err *e);

// Takes the record anew, by number. So a page does not depend on the order in which draws ended.
MUST_USE bool journal_sort(struct journal *j, struct err *e);

// --- a failure -----------------------------------------------------------------------

// A failure that was found. Its name is made of what broke and of the faults that are needed for
// it, so that equal failures get the same name.

#define FAILURE_NAME_MAX 64

struct failure {
    char name[FAILURE_NAME_MAX + 1]; // file name of its scenario, without .yaml
    bool broken[METRIC_COUNT];
    bool verbs[DRAW_VERBS_MAX]; // the verbs that its scenario has
    enum mode mode;
    uint64_t draw; // the lowest number of the draws that showed it
    unsigned confirmed, asked;
    unsigned again;                   // number of other draws that showed it; not stored
    double found_s;                   // seconds since the search began, over all calls
    char file[FAILURE_NAME_MAX + 20]; // path of its scenario below the folder of the search
    char example[256];                // one case in words
};

// Describes the failure by the invariants that `s` breaks and by its verbs, which both make its
// name.
void failure_describe(struct failure *f, const struct scenario *s, const bool broken[METRIC_COUNT]);

// True when the failure explains all that a draw broke. A failure that never came again explains
// nothing.
bool failure_covers(const struct failure *f, const struct tried *t);

// Converts it to a JSON object, and back.
json_t *failure_write(const struct failure *f);
MUST_USE bool failure_read(struct failure *f, const json_t *line, struct err *e);
