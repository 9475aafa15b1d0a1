// Cuts the run into seconds and the load into phases, for files that show the run over time.
#pragma once

#include "ledger/ledger.h"
#include "measure/histogram.h"

struct interval {
    int64_t from_ns, length_ns; // since the start of the load
    const char *phase;          // its name; NULL: one second
    uint64_t intended;          // tokens planned for it
    uint64_t committed;         // acknowledged in it
    uint64_t delivered;         // first deliveries read in it
    uint64_t lines;             // whole ones read in it
    int64_t backlog;            // committed tokens that must be and are not delivered at its end
    struct histogram *from_intended, *from_commit; // of the deliveries, ns
};

typedef bool intervals_use(void *arg, const struct interval *interval, struct err *e);

// Calls `use` for every second until the end of the drain, in order.
MUST_USE bool intervals_each_second(
    const struct ledger *l, intervals_use *use, void *arg, struct err *e);

// Calls `use` for every phase. Its latencies are those of the tokens planned in it.
MUST_USE bool intervals_each_phase(
    const struct ledger *l, intervals_use *use, void *arg, struct err *e);
