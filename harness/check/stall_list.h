// The times at which the harness, the machine or the server stood still. They may have made a line
// come late that the collector wrote in time.
//
// A stall is one of these times:
// - More than slack/2 in which the loop that reads the lines, or a probe's thread, stood still. A
//   collector may cause that by its own work. So what the collector, its descendants and its
//   backends used in that time beyond one processor is taken off.
// - More than slack/2 that the server, without a fault, needed to answer the probe, to flush the
//   probe's commit, or to let the probe connect.
// - More than the slack that a transaction of the load took within recovery_limit of the server's
//   return: a server that has just come back is cold.
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

// Returns the slack that the scenario sets or, with `auto`, the one that the probe measured: 50 ms
// + 5 × the p99 of its query outside of faults, at most 500 ms; 500 ms when no such query was
// answered.
int64_t check_slack_ns(const struct ledger *l, const struct timeline *t);
