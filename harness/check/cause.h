// A cause is the one event that excuses a case, or makes it count under another name.
#pragma once

#include <stdint.h>

enum cause_kind {
    CAUSE_NONE,        // no cause: the case is judged
    CAUSE_FAULT,       // a fault lasted; index is that of its record, as in the next four
    CAUSE_READER,      // a fault kept the reader of the output away
    CAUSE_RETURN,      // the subject was on its way back from a fault
    CAUSE_START,       // the next process started after the plan had ended one
    CAUSE_TAKEOVER,    // another collector took over after a fault
    CAUSE_ADOPTION,    // another collector wrote what one had taken that a fault struck
    CAUSE_BATCH,       // a batch: the writer of the line `index` could not confirm it
    CAUSE_TRANSACTION, // a transaction; index is its number in the plan
    CAUSE_STALL,       // a stall of the harness or of the server's flush; index is its place in the
                       // list
    CAUSE_PROCESSORS,  // other programs kept the processors from a process; index is its number
    CAUSE_SENDER,      // answers or the sender of a process were missing; index is its number
    CAUSE_BUDGET,      // the send budget was spent; index is the line that it may have cut
    CAUSE_KINDS,
};

struct cause {
    enum cause_kind kind;
    uint32_t index;
};

#define CAUSE_IS_NONE ((struct cause){0})

// Returns "fault", "batch", …
const char *cause_name(enum cause_kind kind);
