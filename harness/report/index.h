// index.html over a folder of results: one row for each run, with a link to its
// report.
#pragma once

#include "base/err.h"

// The newest of them; what is older is counted, not shown.
#define INDEX_RUNS_MAX 1000

// Writes dir/index.html, whole or not at all. Results that cannot be read have no
// row; of a folder without any an index says so.
MUST_USE bool index_write(const char *dir, struct err *e);
