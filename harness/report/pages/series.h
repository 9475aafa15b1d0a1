// The course of a run: figures for each interval of time, for charts and tables.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "ledger/ledger.h"

// The stages of a token's time, in their order; stages.h defines them.
enum series_stage { STAGE_LAG, STAGE_INSERT, STAGE_WAIT, STAGE_DEQUEUE, SERIES_STAGES };

struct series_point {
    int64_t at_ns;                 // start of the interval, counted from the start of the load
    uint32_t offered;              // tokens that the plan intended for the interval
    uint32_t achieved;             // tokens acknowledged in it
    uint32_t delivered;            // first deliveries read in it
    int64_t backlog;               // tokens that are acknowledged and not yet read at its end
    double p50_ms, p99_ms, max_ms; // latency since the intended insert of the tokens read in it;
                                   // NAN: none
    double commit_p50_ms, commit_p99_ms; // latency since the acknowledgement; NAN: none
    double stage_ms[SERIES_STAGES];      // mean of each stage over the tokens read in it; NAN: none
};

struct series {
    struct series_point *points; // owned
    size_t count;
    int64_t step_ns;
};

// Divides the run into about 250 intervals of at least 100 ms.
MUST_USE bool series_make(struct series *s, const struct ledger *l, struct err *e);
void series_fini(struct series *s);
