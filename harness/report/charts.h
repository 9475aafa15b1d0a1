// The data of report.html's charts and of the tables beside them.
#pragma once

#include <jansson.h>

#include "report/report.h"

// The run over time: columns of equal length, named as report.js uses them.
MUST_USE json_t *charts_series(const struct ledger *l, struct err *e);

// Returns the server and the machine over time, from the samples: columns again.
json_t *charts_server(const struct report *r);

// Returns latency by percentile, on a scale of nines.
json_t *charts_percentiles(const struct result *r);

// The number of lines of each size, by the reason why they were sent.
MUST_USE json_t *charts_batches(const struct ledger *l, struct err *e);
