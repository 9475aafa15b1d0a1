// Chooses the next fault of the plan to begin or to undo, and the time for it. Pure, so it is
// tested without a clock. The records are in the order of the plan; the first `begun` of them have
// begun.
#pragma once

#include "base/clock.h"
#include "fault/fault.h"

// Returns the lasting fault to undo next and sets *at_ns to the time for it; NULL and CLOCK_NEVER
// when there is none. A fault lasts as long as its `for`, even when it began late. A fault that
// keeps sessions of its own is not undone while the server is away: its sessions could not answer,
// and waiting for them would block the end of the fault that took the server away.
struct fault_record *scheduler_next_end(struct fault_record *faults, size_t begun, int64_t *at_ns);

// Returns when to begin the fault faults[begun], which must exist. This is its planned time, or
// later: it waits for the end of a fault that is late if the two cannot overlap, or if the plan
// lets one begin when the other ends.
int64_t scheduler_begin_ns(const struct fault_record *faults, size_t begun);

// The longest time for which a fault waits for a collector that is just reconnecting or restarting.
#define SCHEDULER_PATIENCE_NS (2 * NS_PER_S)

// Returns the time until which a fault that begins now may wait for a victim: for `patience_ns` at
// most, and not past the end of a fault that may keep the victims away.
int64_t scheduler_patience_until_ns(
    const struct fault_record *faults, size_t begun, int64_t now_ns, int64_t patience_ns);

// Returns when fault r strikes after it had to wait for a victim, which came at now_ns: later by a
// part of r's `every` that the seed decides, 2 s at most. If it struck at once, a fault that
// repeats would hit each session and each process at its birth, and never at work.
int64_t scheduler_strike_ns(const struct fault_record *faults, size_t begun,
    const struct fault_record *r, int64_t now_ns, uint64_t seed);

// Returns the fault, among the first `count`, that explains why fault r found nothing to hit; NULL
// when none does, so that the harness itself failed. It is the latest fault that acts on the
// server, the network, the collector or its reader and that either still lasts or ended at most
// `felt_ns` before r began to look for its victim.
const struct fault_record *scheduler_culprit(
    const struct fault_record *faults, size_t count, const struct fault_record *r, int64_t felt_ns);
