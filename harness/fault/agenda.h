// Chooses the next fault of the plan to begin or to undo, and its time. Pure, and tested without a
// clock. The records are in the order of the plan; the first `begun` of them have begun.
#pragma once

#include "fault/fault.h"

// Returns the lasting fault to undo next, and its time; NULL, CLOCK_NEVER: none. A fault lasts as
// long as its `for`, even when it began late. A fault that keeps sessions of its own waits while
// the server is away: its sessions cannot answer then, and waiting for them would block the fault
// that brings the server back.
struct fault_record *agenda_next_end(struct fault_record *faults, size_t begun, int64_t *at_ns);

// Returns when the next record, which must exist, is to begin. It begins at its time, but waits for
// the end of a late fault if it cannot overlap that one or was planned to begin at its end.
int64_t agenda_begin_ns(const struct fault_record *faults, size_t begun);

// Returns until when a fault that begins now may wait for a victim: at most `patience_ns`, and not
// past the end of a fault that may keep the victims away.
int64_t agenda_patience_until_ns(
    const struct fault_record *faults, size_t begun, int64_t now_ns, int64_t patience_ns);

// Returns which of the first `count` records explains that `r` began and found nothing to hit. It
// is a fault of the server, the network, the collector or its reader, at work since r began or at
// most `felt_ns` before. NULL: none, so the harness itself failed.
const struct fault_record *agenda_culprit(
    const struct fault_record *faults, size_t count, const struct fault_record *r, int64_t felt_ns);
