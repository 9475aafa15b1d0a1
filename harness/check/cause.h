// A cause is the one event that explains a case. The case is then not judged, or counts under
// another name.
#pragma once

#include "base/base.h"

enum cause_kind {
    CAUSE_NONE,     // no cause: the case is judged
    CAUSE_FAULT,    // a fault lasted; index is that of its record, as for the next five kinds. If
                    // one of these five follows a sender's death, index is as for CAUSE_SENDER
    CAUSE_READER,   // a fault kept the reader of the output away or slowed the reader
    CAUSE_RETURN,   // the subject was on its way back from a fault
    CAUSE_START,    // a fault had ended a process, and the next one was starting
    CAUSE_TAKEOVER, // another collector was taking over after a fault
    CAUSE_ADOPTION, // a fault struck a collector that had taken the token, so the token came later
    CAUSE_BATCH, // a batch: its writer may have been unable to confirm it or to record its answers,
                 // or a retry explains it; index is that of its line
    CAUSE_TRANSACTION, // a transaction; index is its number in the plan
    CAUSE_STALL,       // a stall (stall_list.h); index is its place in the list
    CAUSE_PROCESSORS,  // other programs kept the processors from a process; index is its number
    CAUSE_SENDER, // the sender of a process had died or owed answers; index is the process's number
    CAUSE_BUDGET, // the send budget was spent; index is that of the line that the budget may have
                  // cut
    CAUSE_KINDS,
};

struct cause {
    enum cause_kind kind;
    uint32_t index;
};

#define CAUSE_IS_NONE ((struct cause){0})

// Returns "fault", "batch", …
const char *cause_name(enum cause_kind kind);
