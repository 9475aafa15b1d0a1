// Makes the data of report.html's charts and of the tables beside them.
#pragma once

#include <jansson.h>

#include "report/report.h"

// Returns the run over time as columns of equal length. report.js uses their names.
json_t *charts_series(const struct ledger *l);

// Returns the server and the machine over time, from the samples, also as columns.
json_t *charts_server(const struct report *r);

// Returns the latencies by percentile, on a scale of nines.
json_t *charts_percentiles(const struct result *r);

// Returns the number of lines of each size, split by the reason why they were sent.
json_t *charts_batches(const struct ledger *l);
