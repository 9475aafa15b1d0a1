// A run of a suite, and its line in the record of `mailproof run`.
#pragma once

#include <jansson.h>

#include "report/suite.h"

struct suite_item {
    struct suite_run run; // its `folder` and `why` point to the next two members
    char folder[PATH_MAX], why[SUITE_WHY];
    int exit_code;    // 0 also for a skipped run
    struct buf junit; // the run's <testsuite>
};

// Initializes an empty item. It must not be copied or moved, because it has pointers into itself.
void suite_item_init(struct suite_item *r);
void suite_item_fini(struct suite_item *r);

// Writes the line of an item, with the path of the result folder relative to `out`. NULL when
// that path is not UTF-8.
json_t *suite_item_write(const struct suite_item *r, uint64_t number, const char *out);

// Reads an item from its line, except for the result folder. r->run.scenario then points into the
// line. ERR_USAGE when the line does not describe a run.
MUST_USE bool suite_item_read(struct suite_item *r, const json_t *line, struct err *e);
