// A failure that was found. Its name says what broke and which faults it takes, so that equal
// failures get one name. Pure.
#pragma once

#include "explore/tried.h"

#define FAILURE_NAME_MAX 64

struct failure {
    char name[FAILURE_NAME_MAX + 1]; // of its scenario's file
    bool broken[METRIC_COUNT];
    bool verbs[DRAW_VERBS_MAX]; // that its scenario has
    enum mode mode;
    uint64_t draw; // that showed it first
    unsigned confirmed, asked;
    unsigned again;    // draws that showed it later
    double found_s;    // since the search began, all calls together
    char file[200];    // its scenario, below the folder of the search; "": none
    char example[256]; // one case, in words
};

// Describes the failure by the invariants that `s` breaks and by its verbs; both make
// its name.
void failure_describe(struct failure *f, const struct scenario *s, const bool broken[METRIC_COUNT]);

// True when the known failure explains a run that breaks these invariants with these verbs.
bool failure_covers(
    const struct failure *f, const struct scenario *s, const bool broken[METRIC_COUNT]);

// Converts it to a JSON object, and back.
json_t *failure_write(const struct failure *f);
MUST_USE bool failure_read(struct failure *f, const json_t *line, struct err *e);
