// A run of a suite, and its line in the record of `mailproof run`.
#pragma once

#include <jansson.h>

#include "base/buf.h"
#include "report/suite.h"

struct ran {
    struct suite_run run;
    int exit_code;    // 0 also for a skipped run
    struct buf junit; // its <testsuite>
};

void ran_init(struct ran *r);
void ran_fini(struct ran *r);

// Writes the line of an item. The result folder is written as seen from `out`. NULL without memory.
json_t *ran_write(const struct ran *r, uint64_t number, const char *out);

// Reads it back, except for the result folder. The text of `scenario` is the line's.
MUST_USE bool ran_read(struct ran *r, const json_t *line, struct err *e);
