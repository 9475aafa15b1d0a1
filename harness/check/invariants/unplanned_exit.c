// unplanned_exit: a process ended though nobody asked it to; or it ended at TERM too late, or with
// a code that says neither "all is confirmed" nor "my last line is not".
//
// There are four cases; the last two are not judged for a queue:
// - The process ended though nobody asked, or it had to be killed at the end. SIGKILL comes 5 s
//   after TERM.
// - It crashed at TERM: a signal other than KILL, TERM and PIPE ended it.
// - It ended at TERM with another code than 0, 75, or 128 + one of those signals, as a shell tells
//   them. 70 is right as well while a fault is at work, and any code once the reader or the sender
//   of the process is gone.
// - It ended later than 1 s + slack after TERM. The 1 s is promised; the slack is that of late. A
//   pause by the plan in that time excuses, and time without a processor does not count. If a stall
//   (stall_list.h) touches that time, the run is inconclusive.
#include "check/inside.h"

#include <signal.h>
#include <sys/wait.h>

#include "check/bounds.h"

// True when the plan's own SIGKILL ended the process, even if it was asked to end a moment before.
bool check_killed_by_plan(const struct check *c, const struct process_record *p)
{
    const struct strike *k = NULL;

    while ((k = timeline_strike(&c->timeline, k, p->instance, p->ended_ns, p->ended_ns))) {
        const struct verb *v = k->verb;
        if (v->ends == ENDS_PROCESSES && !v->asks &&
            (v->hits == HITS_PROCESS || v->hits == HITS_HOST))
            return true;
    }
    return false;
}

// True when the process was asked to end and did so by its own exit or by a signal of ours. TERM
// counts, because the process may not catch it, and so does the SIGPIPE of a closed pipe. SIGKILL
// counts unless it ended a process that had ignored TERM at the end.
bool check_ended_as_asked(const struct check *c, const struct process_record *p)
{
    if (!p->asked || !WIFSIGNALED(p->status))
        return p->asked;
    switch (WTERMSIG(p->status)) {
    case SIGKILL:
        return p->ended_ns < c->l->drain_end_ns || check_killed_by_plan(c, p);
    case SIGTERM:
    case SIGPIPE:
        return true;
    default:
        return false;
    }
}

// Returns the earliest time at which the end of the drain or a fault asked the process to end. A
// fault asks only the processes that started before it struck.
int64_t check_term_ns(const struct check *c, const struct process_record *p)
{
    int64_t at_ns = p->ended_ns >= c->l->drain_end_ns ? c->l->drain_end_ns : CLOCK_NEVER;
    const struct strike *k = NULL;

    while ((k = timeline_strike(&c->timeline, k, p->instance, p->started_ns, p->ended_ns)))
        if (k->verb->asks && p->started_ns < k->struck_ns)
            at_ns = clock_min(at_ns, k->struck_ns);
    return at_ns;
}

// --- the code ----------------------------------------------------------------------

// True when the process had lost its output or its sender before it ended.
static bool is_cut_off(const struct check *c, const struct process_record *p)
{
    const struct strike *k = NULL;

    while ((k = timeline_strike(&c->timeline, k, p->instance, p->started_ns, p->ended_ns)))
        if (k->verb->ends == ENDS_PROCESSES &&
            (k->verb->hits == HITS_READER || k->verb->hits == HITS_SENDER))
            return true;
    return false;
}

struct cause check_ending_disturbed(
    const struct check *c, int instance, int64_t from_ns, int64_t until_ns)
{
    const struct strike *k = NULL;

    while ((k = timeline_strike(&c->timeline, k, instance, from_ns, until_ns)))
        if (!k->verb->asks)
            return k->cause;
    return CAUSE_IS_NONE;
}

// True when the process ended at TERM with a code that nothing explains. Nobody promised how a
// queue's consumer ends.
static bool is_wrong_code(const struct check *c, const struct process_record *p)
{
    enum { CONFIRMED = 0 };
    int64_t asked_ns = check_term_ns(c, p);

    if (scenario_is_queue(c->l->scenario) || asked_ns == CLOCK_NEVER || !WIFEXITED(p->status))
        return false;
    switch (WEXITSTATUS(p->status)) {
    case CONFIRMED:
    case check_unconfirmed:
    case check_by_signal + SIGTERM:
    case check_by_signal + SIGKILL:
    case check_by_signal + SIGPIPE:
        return false;
    case check_failed:
        return check_ending_disturbed(c, p->instance, asked_ns, p->ended_ns).kind == CAUSE_NONE &&
               !is_cut_off(c, p);
    // A runtime that loses its output may end as it likes.
    default:
        return !is_cut_off(c, p);
    }
}

// Adds a finding if the process ended unasked, or was asked to end and did not end as it should.
static void find_end(const struct check *c, const struct process_record *p)
{
    const double at_s = ledger_seconds(c->l, p->ended_ns);
    char how[48], when[48], said[64] = "";

    if (check_ended_as_asked(c, p) && !is_wrong_code(c, p))
        return;
    if (WIFSIGNALED(p->status))
        snprintf(how, sizeof how, "signal %d", WTERMSIG(p->status));
    else
        snprintf(how, sizeof how, "exit code %d", WEXITSTATUS(p->status));
    // A collector is started first, so one that fails at its start is gone before the load begins.
    if (at_s < 0)
        snprintf(when, sizeof when, "%.3f s before the load", -at_s);
    else
        snprintf(when, sizeof when, "at %.3f s", at_s);
    if (p->last_words[0])
        snprintf(said, sizeof said, "; logs/collector-%d.log ends: ", p->instance);
    finding_add(c->r, METRIC_UNPLANNED_EXIT, "pid %d%s ended %s with %s%s%s", (int)p->pid,
        p->asked ? ", asked to end," : "", when, how, said, p->last_words);
}

// --- the time ----------------------------------------------------------------------

// True when the plan paused the process between from_ns and its end. A paused process cannot end.
static bool is_paused(const struct check *c, int64_t from_ns, const struct process_record *p)
{
    const struct strike *k = NULL;

    while ((k = timeline_strike(&c->timeline, k, p->instance, from_ns, p->ended_ns)))
        if (k->verb->hits == HITS_PROCESS && k->verb->ends != ENDS_PROCESSES)
            return true;
    return false;
}

// True when a process took more than its second, and slack, to end at TERM, which it got at
// asked_ns. Waits for a processor do not count; check_exits leaves out stalls. A process that had
// to be killed at the end is counted already. A queue's consumer finishes its current job, and
// nobody promised how soon.
static bool is_late(const struct check *c, const struct process_record *p, int64_t asked_ns)
{
    bool killed = WIFSIGNALED(p->status) && WTERMSIG(p->status) == SIGKILL;
    uint32_t process = (uint32_t)(p - c->l->log->processes);

    return !scenario_is_queue(c->l->scenario) && asked_ns != CLOCK_NEVER &&
           !(killed && asked_ns >= c->l->drain_end_ns) && !is_paused(c, asked_ns, p) &&
           check_left(c, process, asked_ns, p->ended_ns, p->ended_ns - asked_ns, 0).ns >
               bounds_ending_ns + c->r->slack_ns;
}

void check_exits(const struct check *c)
{
    const struct ledger *l = c->l;
    size_t stalled = 0; // number of late ends that a stall may explain

    for (size_t i = 0; i < l->log->process_count; i++) {
        const struct process_record *p = &l->log->processes[i];
        int64_t asked_ns = check_term_ns(c, p);
        if (p->ended_ns == CLOCK_NEVER)
            continue; // the process lives on in the next segment
        judged_add(c->r, METRIC_UNPLANNED_EXIT, 1, CAUSE_IS_NONE);
        find_end(c, p);
        if (!is_late(c, p, asked_ns))
            continue;
        // The harness sees an end only when it wakes up, so when it stood still an end seems late.
        // A server that stood still kept the process from its last confirmation.
        if (check_kept_by(c, NO_PROCESS, asked_ns, p->ended_ns, 0, CAUSE_IS_NONE).kind !=
            CAUSE_NONE)
            stalled++;
        else
            finding_add(c->r, METRIC_UNPLANNED_EXIT,
                "pid %d got TERM at %.3f s and ended %.3f s later", (int)p->pid,
                ledger_seconds(l, asked_ns), (double)(p->ended_ns - asked_ns) / 1e9);
    }
    if (stalled > 0)
        result_reason(c->r,
            "%zu %s ended late while the harness, the machine or the server stood still", stalled,
            NOUN(stalled, "collector", "collectors"));
}
