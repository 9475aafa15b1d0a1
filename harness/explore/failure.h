// A failure that was found. Its name is made of what broke and of the faults that are needed for
// it, so that equal failures get the same name. Pure.
#pragma once

#include "explore/tried.h"

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
