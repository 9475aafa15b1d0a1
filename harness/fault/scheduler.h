// Chooses the next fault of the plan to begin or to undo, and the time for it. Pure, so it is
// tested without a clock. The records are in the order of the plan; the first `begun` of them have
// begun.
#pragma once

#include "base/clock.h"
#include "fault/fault.h"

// Returns the lasting fault to undo next, and the time for it; NULL and CLOCK_NEVER: none. A fault
// lasts as long as its `for`, even when it began late. A fault that keeps sessions of its own waits
// while the server is away. Its sessions cannot answer then, and waiting for them would block the
// fault that brings the server back.
struct fault_record *scheduler_next_end(struct fault_record *faults, size_t begun, int64_t *at_ns);

// Returns when the next record, which must exist, is to begin. This is its planned time. But it
// waits for the end of a late fault if it cannot overlap that fault, or if the plan lets it begin
// at that fault's end.
int64_t scheduler_begin_ns(const struct fault_record *faults, size_t begun);

// The longest time for which a fault waits for a collector that is just reconnecting or restarting.
#define SCHEDULER_PATIENCE_NS (2 * NS_PER_S)

// Returns until when a fault that begins now may wait for a victim: for `patience_ns` at most, and
// not past the end of a fault that may keep the victims away.
int64_t scheduler_patience_until_ns(
    const struct fault_record *faults, size_t begun, int64_t now_ns, int64_t patience_ns);

// Returns when a fault strikes that had to wait for its victim, which has come at now_ns: a seeded
// part of its `every` later. If it struck at once, a fault that repeats would hit each session and
// each process at its birth, and never at work.
int64_t scheduler_strike_ns(const struct fault_record *faults, size_t begun,
    const struct fault_record *r, int64_t now_ns, uint64_t seed);

// Returns the one of the first `count` records that explains why `r` began and found nothing to
// hit. Such a fault acts on the server, the network, the collector or its reader, and was at work
// since r began or at most `felt_ns` before. NULL: no fault explains it, so the harness itself
// failed.
const struct fault_record *scheduler_culprit(
    const struct fault_record *faults, size_t count, const struct fault_record *r, int64_t felt_ns);
