// Appends the parts of a junit.xml: suites of cases.
#pragma once

#include "base/base.h"

struct junit_counts {
    int tests, failures, errors, skipped;
};

struct junit_case {
    const char *kind, *name; // such as "invariant" and "lost"
    const char *trouble;     // "failure", "error" or "skipped"; NULL: the case passed
    const char *message;     // one line about the trouble
    const char *text;        // further text; NULL: none
};

// These append the parts of a <testsuite>: its beginning, a case, its end. junit_close returns
// false when `out` is full.
void junit_open(
    const char *scenario, const struct junit_counts *c, double seconds, struct buf *out);
void junit_case(const char *scenario, const struct junit_case *c, struct buf *out);
bool junit_close(struct buf *out);
