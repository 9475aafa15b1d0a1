// Which of the plan's faults is to begin or to be undone next, and when: pure, tested
// without a clock. The records stand in the order of the plan; the first `begun`
// of them have begun.
#pragma once

#include "fault/fault.h"

// The lasting fault that is to be undone next, and its time; NULL, CLOCK_NEVER:
// none. A fault lasts as long as it says, also when it began late. One that keeps
// sessions of its own waits for a server that is away: nothing could be asked of
// them, and to wait for an answer would be to wait for oneself.
struct fault_record *agenda_next_end(struct fault_record *faults, size_t begun, int64_t *at_ns);

// When the next of the records, which is there, is to begin: at its time, but not
// before one that began late and that it cannot overlap is over.
int64_t agenda_begin_ns(const struct fault_record *faults, size_t begun);
