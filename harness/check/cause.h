// A cause is the one event that excuses a case, or makes it count under another name.
#pragma once

#include <stdint.h>

enum cause_kind {
    CAUSE_NONE,        // no cause: the case is judged
    CAUSE_FAULT,       // index: a fault record
    CAUSE_BATCH,       // index: a line that its writer could not confirm
    CAUSE_TRANSACTION, // index: a transaction
    CAUSE_STALL,       // index: a stall, of the harness or of the server's flush
    CAUSE_SESSION,     // a session of the subject opened just then
    CAUSE_STARVED,     // index: a process that got no processor
    CAUSE_SENDER,      // index: a process whose sender died
    CAUSE_KINDS,
};

struct cause {
    enum cause_kind kind;
    uint32_t index;
};

#define CAUSE_IS_NONE ((struct cause){0})

// Returns "fault", "batch", …
const char *cause_name(enum cause_kind kind);
