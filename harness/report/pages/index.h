// Writes index.html for a folder of results: one row for each run, with a link to its report.
#pragma once

#include "base/base.h"

// The index shows at most this many runs, the newest ones. Of the older runs it tells only the
// number.
#define INDEX_RUNS_MAX 1000

// Writes dir/index.html, whole or not at all. A result that cannot be read gets no row. The
// index of an empty folder says that there is no run.
MUST_USE bool index_write(const char *dir, struct err *e);
