// litters: what a collector leaves behind when it ends at TERM.
//
// The harness puts a mark into the environment of each process that it starts, and all its
// descendants inherit it. 1.5 s after an end at TERM (the second that a collector has, and the
// longest slack), no process may have the mark any more; the harness kills those that do. A program
// that clears its environment is not found.
#include "check/inside.h"

void check_litters(const struct check *c)
{
    const struct ledger *l = c->l;

    for (size_t i = 0; i < l->log->process_count; i++) {
        const struct process_record *p = &l->log->processes[i];
        bool some = p->left == PROCESS_LEFT_SOME;
        if (p->left == PROCESS_LEFT_UNKNOWN)
            continue;
        // A fault that was at work at any time from a second before the end until a process was
        // found may have kept the collector from cleaning up.
        struct cause cause = check_ending_disturbed(
            c, p->instance, p->ended_ns - NS_PER_S, some ? p->left_ns : p->ended_ns);
        judged_add(c->r, METRIC_LITTERS, 1, cause);
        if (some && cause.kind == CAUSE_NONE)
            finding_add(c->r, METRIC_LITTERS,
                "pid %d ended at TERM at %.3f s; %s, which it had started, still ran %.1f s later",
                (int)p->pid, ledger_seconds(l, p->ended_ns), p->litter,
                (double)(p->left_ns - p->ended_ns) / 1e9);
    }
}
