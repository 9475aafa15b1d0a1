// A run of a suite, and its line in the record of `mailproof run`.
#pragma once

#include <jansson.h>
#include <limits.h>

#include "base/buf.h"
#include "report/suite.h"

struct suite_item {
    struct suite_run run; // its texts are the two below
    char folder[PATH_MAX], why[SUITE_WHY];
    int exit_code;    // 0 also for a skipped run
    struct buf junit; // its <testsuite>
};

// The item must not be moved.
void suite_item_init(struct suite_item *r);
void suite_item_fini(struct suite_item *r);

// Writes the line of an item. The result folder is written as seen from `out`. NULL without memory.
json_t *suite_item_write(const struct suite_item *r, uint64_t number, const char *out);

// Reads it back, except for the result folder. The text of `scenario` is the line's.
MUST_USE bool suite_item_read(struct suite_item *r, const json_t *line, struct err *e);
