// The cost of a run besides time. Pure.
#pragma once

#include <jansson.h>
#include <stdbool.h>

// NAN: the figure was not measured.
struct tune_cost {
    double wal_bytes;        // bytes per token; of the whole server, so the inserts are included
    double backend_cpu_ms;   // CPU time of the collector's backends, ms per 1,000 tokens
    double collector_cpu_ms; // CPU time of the collector itself, ms per 1,000 tokens
    double round_trips;      // round trips of the collector per token; not in result.json
};

// Reads the cost from a result.json. Without `local`, backend_cpu_ms is NAN, because the processes
// of a remote server cannot be seen.
struct tune_cost cost_of(const json_t *result, bool local);
