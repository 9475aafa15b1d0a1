// Chooses the next fault of the plan to begin or to undo, and the time for it. Pure, so it is
// tested without a clock. The records are in the order of the plan. The first `begun_count` of them
// have begun; some of these may have ended.
#pragma once

#include "fault/fault.h"

// Returns the lasting fault to undo next and sets *at_ns to the time for it; NULL and CLOCK_NEVER
// when there is none. A fault lasts as long as its `for`, even when it began late. A fault that
// keeps sessions of its own, or a setting of the server, is not undone while the server is away:
// the server could not answer, and waiting for it would block the end of the fault that took it
// away.
struct fault_record *scheduler_next_end(
    struct fault_record *faults, size_t begun_count, int64_t *at_ns);

// Returns when to begin the fault faults[begun_count], which must exist: at its planned time or, if
// that is later, at the end of an earlier fault with which it cannot overlap, or at whose end it
// begins by the plan.
int64_t scheduler_begin_ns(const struct fault_record *faults, size_t begun_count);

// The victim of a fault is the session, process or connection that it acts on. There may be none
// while a collector reconnects or restarts. A fault waits at most this long for its victim.
#define SCHEDULER_VICTIM_WAIT_NS (2 * NS_PER_S)

// Returns the time until which a fault that begins now may wait for a victim: for `wait_max_ns` at
// most, and not past the end of another fault that may keep the victims away.
int64_t scheduler_victim_deadline_ns(
    const struct fault_record *faults, size_t begun_count, int64_t now_ns, int64_t wait_max_ns);

// Returns when fault r acts on a victim for which it had to wait, and which came at now_ns. That is
// later by a random part of r's `every` that the seed decides: 2 s at most, and not past the end of
// another fault that may keep the victims away. If a repeated fault acted at once, it would hit
// each session and each process when it is new, and never at work.
int64_t scheduler_strike_ns(const struct fault_record *faults, size_t begun_count,
    const struct fault_record *r, int64_t now_ns, uint64_t seed);

// Returns the fault, among the first `count`, that explains why fault r found nothing to hit; NULL
// when none does, so that the harness itself failed. It is the latest fault that took effect, may
// take victims away, and either still lasts or ended at most `felt_ns` before r began to look for
// its victim.
const struct fault_record *scheduler_culprit(
    const struct fault_record *faults, size_t count, const struct fault_record *r, int64_t felt_ns);
