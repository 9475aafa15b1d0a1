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
// before one that began late is over, if it cannot overlap that one, or was planned
// to begin where that one ends.
int64_t agenda_begin_ns(const struct fault_record *faults, size_t begun);

// How long a fault that begins now may wait for somebody to hit: no longer than
// `patience_ns`, and not past the end of one that may be what keeps them away.
int64_t agenda_patience_until_ns(
    const struct fault_record *faults, size_t begun, int64_t now_ns, int64_t patience_ns);

// The one of the first `count` records that explains why `r`, which began and found
// nothing to hit, did not: a fault of the server, the network, the collector or its
// reader that was at work since r began, or not longer before than `felt_ns`. NULL:
// none, it was the harness's own failure.
const struct fault_record *agenda_culprit(
    const struct fault_record *faults, size_t count, const struct fault_record *r, int64_t felt_ns);
