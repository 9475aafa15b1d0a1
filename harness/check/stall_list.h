// The times at which the harness, the machine or the server stood still. They may have made a line
// late that the collector wrote in time.
//
// A stall is a time of more than slack/2 without a fault: the loop that reads the lines or a
// probe's thread woke that late, or the server needed that long to answer the probe, to flush the
// probe's commit, or to let the probe connect. A server that has just come back is cold: each
// transaction of the load that took longer than the slack is a stall, too, within recovery_limit.
//
// A collector may stop a loop by its own work. So a loop's stall is shorter by what the collector,
// all below it and its backends ran in that time beyond one processor.
#pragma once

#include "check/timeline.h"
#include "os/stalls.h"

struct stall_list {
    struct stall *items; // owned; in the order of time, apart from each other
    size_t count, room;
};

// Lists all stalls longer than `least_ns`: of the loop that reads the lines (NULL: unknown), of the
// probes' threads, of the server's answers and of its flushes, and of the load's transactions on a
// server that has just come back. A delay of the server that a fault causes is not a stall.
MUST_USE bool stall_list_make(struct stall_list *s, const struct ledger *l,
    const struct stalls *reader, const struct timeline *t, int64_t least_ns, struct err *e);
void stall_list_fini(struct stall_list *s);

// Returns how much of a stretch of time the stalls take.
int64_t stall_list_ns(const struct stall_list *s, int64_t from_ns, int64_t until_ns);

// Returns at_ns, or the end of the stall that lasts at that time.
int64_t stall_list_over_ns(const struct stall_list *s, int64_t at_ns);

// Returns the first stall of that length or more that touches it; CAUSE_NONE when none does. The
// index of the cause is its place in the list.
struct cause stall_list_touches(
    const struct stall_list *s, int64_t from_ns, int64_t until_ns, int64_t least_ns);

// Returns the p99 of the probe's commits, in ns; 50 ms when there are none.
int64_t check_flush_ns(const struct ledger *l);

// Returns the scenario's slack, or the one that the probe measured.
int64_t check_slack_ns(const struct ledger *l, const struct timeline *t);
