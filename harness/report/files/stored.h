// Reads a run back from its result.json.
#pragma once

#include "check/check.h"

struct stored {
    char folder[PATH_MAX]; // the folder from which it was read; "" when a text was parsed
    char scenario[128];
    int rules;     // CHECK_RULES of the program that judged the run; 1 if the file does not say
    char mode[16]; // "every-cut" or "every-kill"; "" for an ordinary run
    uint64_t seed;
    enum verdict verdict;
    bool interrupted;                // a signal ended the run early
    char program[160], changed[500]; // may be cut; "": not known, or nothing was changed
    double values[METRIC_COUNT];     // NAN: not measured
    bool broken[METRIC_COUNT];
    char reason[240];  // the first reason why the run is inconclusive, or why the subject was given
                       // up; may be cut; "": none
    char missed[160];  // the expectations that do not hold; may be cut
    char silence[200]; // when the collector was silent, in words; "": it was not
};

// Writes what went wrong in a run, such as "late 8, latency.p99 < 500ms": that the collector was
// silent, the broken invariants with their counts, the expectations that do not hold, why the run
// is inconclusive and, if all this says nothing, why the subject was given up. The text is cut to
// `size`.
void stored_broke(const struct stored *s, char *text, size_t size);

// Reads a result folder. ERR_USAGE when it holds no result of a known form.
MUST_USE bool stored_read(struct stored *s, const char *folder, struct err *e);

// As stored_read, but takes the text of a result.json; pure.
MUST_USE bool stored_parse(struct stored *s, const char *text, size_t len, struct err *e);
