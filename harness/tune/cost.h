// The cost of a run besides time. Pure.
#pragma once

#include <jansson.h>
#include <stdbool.h>

// NAN: not measured.
struct tune_cost {
    double wal_bytes;        // per token: of the whole server, so inserts are in it
    double backend_cpu_ms;   // of the collector's backends, per 1,000 tokens
    double collector_cpu_ms; // of the collector itself, per 1,000 tokens
    double round_trips;      // of the collector, per token; not in result.json
};

// Reads the cost from a result.json. The processes of a remote server cannot be seen, so
// backend_cpu_ms is NAN unless `local`.
struct tune_cost cost_of(const json_t *result, bool local);
