// The times at which the harness, the machine or the server stood still. They may have made a line
// come late that the collector wrote in time.
//
// A stall is a time of more than slack/2: the loop that reads the lines or a probe's thread woke
// that late; or the server, without a fault, needed that long to answer the probe, to flush the
// probe's commit, or to let the probe connect. A server that has just come back is cold: each
// transaction of the load that took longer than the slack is a stall, too, within recovery_limit.
//
// A collector may stop a loop by its own work. So a loop's stall is shortened by what the
// collector, its descendants and its backends used in that time beyond one processor.
#pragma once

#include "check/timeline.h"
#include "os/ticker.h"

struct stall_list {
    struct stall *items; // owned; in the order of time; no two touch each other
    size_t count;
};

// Lists all stalls longer than `least_ns`: of the loop that reads the lines (NULL: unknown), of the
// probes' threads, of the server's answers and of its flushes. On a server that has just come back,
// it lists the load's transactions longer than twice that, too. A delay of the server that a fault
// causes is not a stall.
void stall_list_make(struct stall_list *s, const struct ledger *l, const struct stalls *reader,
    const struct timeline *t, int64_t least_ns);
void stall_list_fini(struct stall_list *s);

// Returns for how much of a stretch of time stalls lasted.
int64_t stall_list_ns(const struct stall_list *s, int64_t from_ns, int64_t until_ns);

// Returns at_ns, or the end of the stall that lasts at that time.
int64_t stall_list_over_ns(const struct stall_list *s, int64_t at_ns);

// Returns the first stall of least_ns or more that touches a stretch of time, as a cause whose
// index is the stall's place in the list; CAUSE_NONE when none does.
struct cause stall_list_touches(
    const struct stall_list *s, int64_t from_ns, int64_t until_ns, int64_t least_ns);

// Returns the p99 of the time that the probe's commits took, in ns; 50 ms when none was answered.
int64_t check_flush_ns(const struct ledger *l);

// Returns the slack that the scenario sets or, with `auto`, the one that the probe measured.
int64_t check_slack_ns(const struct ledger *l, const struct timeline *t);
