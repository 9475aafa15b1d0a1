// What may keep a collector in leased mode from recording an answer that its sender gave.
#include "check/inside.h"

#include <signal.h>
#include <sys/wait.h>

#include "check/bounds.h"

bool check_timed_out(const struct check *c, const struct delivery *d, int64_t at_ns)
{
    return at_ns - check_written_ns(c, &c->l->log->lines[d->line]) >=
           c->leased.answer_timeout_ns - c->r->slack_ns;
}

// Returns how long it may take to record an answer that came at at_ns: the commit that records it
// may have to wait for another one. Slow faults of the next second lengthen it.
static int64_t recorded_within_ns(const struct check *c, int64_t at_ns)
{
    return check_slack(c, at_ns, at_ns + NS_PER_S).ns + 2 * c->flush_ns;
}

// True when the process ended before again_ns, and so soon after the answer that it may not have
// recorded the answer. A process that is asked to end may take a second to end, and need not record
// what comes meanwhile. Time in which the process got no processor does not count, because it could
// not read the answer then.
static bool ended_before_record(const struct check *c, const struct delivery *d, int64_t again_ns)
{
    uint32_t process = c->l->log->lines[d->line].process;
    const struct process_record *p = &c->l->log->processes[process];
    bool killed = WIFSIGNALED(p->status) && WTERMSIG(p->status) == SIGKILL;
    int64_t ending_ns = killed ? 0 : bounds_ending_ns;
    int64_t left_ns =
        check_left(c, process, d->replied_ns, p->ended_ns, p->ended_ns - d->replied_ns, 1).ns;

    return p->ended_ns <= again_ns && left_ns <= recorded_within_ns(c, d->replied_ns) + ending_ns;
}

struct cause check_unrecorded_by(const struct check *c, const struct delivery *d, int64_t again_ns)
{
    const struct ledger *l = c->l;
    int instance = l->log->processes[l->log->lines[d->line].process].instance;
    int64_t until_ns = clock_min(again_ns, d->replied_ns + recorded_within_ns(c, d->replied_ns));

    if (ended_before_record(c, d, again_ns) || check_timed_out(c, d, d->replied_ns))
        return (struct cause){CAUSE_BATCH, d->line};
    // The server itself may have lost the record since. Any of several faults may have done so; the
    // run's first fault stands for them.
    if (check_server_forgot(
            c->l, d->replied_ns, again_ns, d->replied_ns + recorded_within_ns(c, d->replied_ns)))
        return (struct cause){CAUSE_FAULT, 0};
    // A fault that hit this instance may have prevented the commit that records the answer. One
    // that hit it just before may have ended its lease.
    return timeline_disturbed_by(&c->timeline, instance, d->replied_ns - c->r->slack_ns, until_ns);
}
