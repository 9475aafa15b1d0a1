// A run read back from its result folder: what json.c wrote.
#pragma once

#include <limits.h>

#include "check/check.h"

struct stored {
    char scenario[128];
    enum verdict verdict;
    double values[METRIC_COUNT]; // NAN: not measured
    bool broken[METRIC_COUNT];
};

// ERR_USAGE when the folder holds no result that can be understood.
MUST_USE bool stored_read(struct stored *s, const char *folder, struct err *e);

// From the text of a result.json; pure.
MUST_USE bool stored_parse(struct stored *s, const char *text, size_t len, struct err *e);
