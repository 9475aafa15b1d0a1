// Counts how the handlers of a queue's jobs went, in runs where the harness tells each handler how
// to end (collector.sender). A handler that is told to hang counts as ended from that moment on.
// Pure. Times are in ns.
#pragma once

#include "ledger/ledger.h"

struct handlers {
    uint32_t in_hand;    // number of handlers whose process died before their answer
    uint32_t came_again; // number of those whose job was handed out again
    int64_t again_ns;  // longest time from the death of such a process until its job was handed out
                       // again; CLOCK_NEVER: no job was
    uint32_t at_once;  // number of handlers that began while another one of the same job still ran
    uint32_t failing;  // number of jobs whose handler fails each time
    uint32_t attempts; // most attempts of one failing job
    int64_t gap_min_ns, gap_max_ns; // shortest and longest time from a failed attempt of such a job
                                    // to its next one; CLOCK_NEVER: there was no next one
};

// Fills in *h from the log of a run that has ended.
void handlers_read(struct handlers *h, const struct ledger *l);
