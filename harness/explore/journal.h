// The journal of a search: in memory, and as lines of JSON in its folder, so that the results of
// several calls add up. It has one line for each draw, each failure and each call.
#pragma once

#include <stdio.h>

#include "explore/coverage.h"
#include "explore/failure.h"

#define JOURNAL_WHYS_MAX 12

// The settings that all draws of a search share. A search with other settings is another search.
struct journal_head {
    uint64_t seed;
    const char *collector; // "": the scenario names it
    const char *sets;      // all other settings that change a draw, as one text
};

struct journal_why {
    char text[160];
    unsigned count;
};

struct journal {
    FILE *file;
    struct coverage coverage;
    struct failure *failures; // owned
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

// Opens the folder's journal and reads what is there. ERR_USAGE when it belongs to a search with
// other settings. Call journal_close also on failure.
MUST_USE bool journal_open(
    struct journal *j, const char *path, const struct journal_head *head, struct err *e);
void journal_close(struct journal *j);

bool journal_has(const struct journal *j, uint64_t number);

MUST_USE bool journal_add(struct journal *j, const struct tried *t, struct err *e);

// Adds a failure, which replaces an earlier one of the same name.
MUST_USE bool journal_found(struct journal *j, const struct failure *f, struct err *e);

// Returns the failure of that name; NULL when there is none.
struct failure *journal_failure(struct journal *j, const char *name);

// Records the end of a call.
MUST_USE bool journal_end(struct journal *j, double took_s, struct err *e);
