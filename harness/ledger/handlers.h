// How the handlers of a queue's jobs went, where the harness ends each of them with an answer
// (collector.sender). Pure. Times are in ns.
#pragma once

#include <stdint.h>

#include "ledger/ledger.h"

struct handlers {
    uint32_t in_hand;    // number of handlers whose process died before their answer
    uint32_t came_again; // of these, number whose job was handed out again
    int64_t again_ns;    // the longest time from such a death until then; CLOCK_NEVER: none came
    uint32_t at_once;  // number of handlers that began while another one of the same job still ran
    uint32_t failing;  // number of jobs whose handler fails each time
    uint32_t attempts; // the most attempts of such a job
    int64_t gap_min_ns, gap_max_ns; // from the failure of one attempt to the next one; CLOCK_NEVER:
                                    // there was no next one
};

// Reads the log of a run that has ended. False without memory.
MUST_USE bool handlers_read(struct handlers *h, const struct ledger *l, struct err *e);
