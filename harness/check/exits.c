// unplanned_exit: a process ended though nobody asked it to, or at TERM too late or with a code
// that says neither "all is confirmed" nor "my last line is not".
#include "check/inside.h"

#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>

#include "base/clock.h"

static const int64_t ending_ns = NS_PER_S; // time that a process has from TERM to its end

// True when the plan's own SIGKILL ended the process, even if it was asked to end a moment before.
bool check_killed_by_plan(const struct ledger *l, const struct process_record *p)
{
    for (size_t i = 0; i < l->fault_count; i++) {
        const struct fault_record *f = &l->faults[i];
        bool kills =
            f->spec->verb->id == VERB_KILL_COLLECTOR || f->spec->verb->id == VERB_KILL_HOST;
        if (kills && f->began_ns && f->began_ns <= p->ended_ns && p->ended_ns <= f->ended_ns &&
            (f->spec->instance < 0 || f->spec->instance == p->instance))
            return true;
    }
    return false;
}

// True when the process was asked to end and did so by its own exit or by a signal of ours. TERM
// counts, because the process may not catch it, and so does the SIGPIPE of a closed pipe. SIGKILL
// counts unless it ended a process that had ignored TERM at the end.
bool check_ended_as_asked(const struct ledger *l, const struct process_record *p)
{
    if (!p->asked || !WIFSIGNALED(p->status))
        return p->asked;
    switch (WTERMSIG(p->status)) {
    case SIGKILL:
        return p->ended_ns < l->drain_end_ns || check_killed_by_plan(l, p);
    case SIGTERM:
    case SIGPIPE:
        return true;
    default:
        return false;
    }
}

static bool is_hit(const struct fault_record *f, const struct process_record *p)
{
    return f->began_ns && !f->left_out &&
           (f->spec->instance < 0 || f->spec->instance == p->instance);
}

// Returns when TERM was sent to a process; CLOCK_NEVER: it was not. A process that started after a
// fault had begun was asked to end by a later one, or not at all.
static int64_t term_ns(const struct ledger *l, const struct process_record *p)
{
    int64_t at_ns = p->ended_ns >= l->drain_end_ns ? l->drain_end_ns : CLOCK_NEVER;

    for (size_t i = 0; i < l->fault_count; i++) {
        const struct fault_record *f = &l->faults[i];
        if (f->spec->verb->id == VERB_STOP_COLLECTOR && is_hit(f, p) &&
            p->started_ns < f->began_ns && p->ended_ns >= f->began_ns)
            at_ns = clock_min(at_ns, f->began_ns);
    }
    return at_ns;
}

// --- the code ----------------------------------------------------------------------

// True when the process had lost its output or its sender before it ended.
static bool is_cut_off(const struct ledger *l, const struct process_record *p)
{
    uint32_t process = (uint32_t)(p - l->log->processes);

    for (size_t i = 0; i < l->fault_count; i++) {
        const struct fault_record *f = &l->faults[i];
        enum verb_id id = f->spec->verb->id;
        if ((id == VERB_CLOSE_READER || id == VERB_KILL_SENDER) && is_hit(f, p) &&
            f->began_ns <= p->ended_ns && f->ended_ns >= p->started_ns)
            return true;
    }
    for (size_t i = 0; i < l->log->delivery_count; i++) {
        const struct delivery *d = &l->log->deliveries[i];
        if (d->reply == REPLY_DIED && l->log->lines[d->line].process == process)
            return true;
    }
    return false;
}

struct cause check_ending_disturbed(const struct ledger *l, int64_t from_ns, int64_t until_ns)
{
    for (size_t i = 0; i < l->fault_count; i++) {
        const struct fault_record *f = &l->faults[i];
        if (f->spec->verb->id != VERB_STOP_COLLECTOR && f->began_ns && f->began_ns <= until_ns &&
            f->ended_ns >= from_ns)
            return (struct cause){CAUSE_FAULT, (uint32_t)i};
    }
    return CAUSE_IS_NONE;
}

// True when the process ended at TERM with a code that nothing explains. A shell, and the runtimes
// of some languages, tell the signal that ended the program as 128 + its number. Nobody promised
// how a queue's consumer ends.
static bool is_wrong_code(const struct ledger *l, const struct process_record *p)
{
    enum { CONFIRMED = 0, INTERNAL = 70, UNCONFIRMED = 75, BY_SIGNAL = 128 };
    int64_t asked_ns = term_ns(l, p);

    if (scenario_is_queue(l->scenario) || asked_ns == CLOCK_NEVER || !WIFEXITED(p->status))
        return false;
    switch (WEXITSTATUS(p->status)) {
    case CONFIRMED:
    case UNCONFIRMED:
    case BY_SIGNAL + SIGTERM:
    case BY_SIGNAL + SIGKILL:
    case BY_SIGNAL + SIGPIPE:
        return false;
    case INTERNAL:
        return check_ending_disturbed(l, asked_ns, p->ended_ns).kind == CAUSE_NONE &&
               !is_cut_off(l, p);
    default:
        return !is_cut_off(l, p);
    }
}

static void find_end(const struct check *c, const struct process_record *p)
{
    char how[48], said[64] = "";

    if (check_ended_as_asked(c->l, p) && !is_wrong_code(c->l, p))
        return;
    if (WIFSIGNALED(p->status))
        snprintf(how, sizeof how, "signal %d", WTERMSIG(p->status));
    else
        snprintf(how, sizeof how, "exit code %d", WEXITSTATUS(p->status));
    if (p->last_words[0])
        snprintf(said, sizeof said, "; logs/collector-%d.log ends: ", p->instance);
    finding_add(c->r, METRIC_UNPLANNED_EXIT, "pid %d ended%s at %.3f s with %s%s%s", (int)p->pid,
        p->asked ? " as it was asked to," : "", ledger_seconds(c->l, p->ended_ns), how, said,
        p->last_words);
}

// --- the time ----------------------------------------------------------------------

// A process that the plan pauses cannot end.
static bool is_paused(const struct ledger *l, int64_t from_ns, int64_t until_ns)
{
    for (size_t i = 0; i < l->fault_count; i++) {
        const struct fault_record *f = &l->faults[i];
        if (f->spec->verb->id == VERB_PAUSE_COLLECTOR && f->began_ns && f->began_ns < until_ns &&
            f->ended_ns > from_ns)
            return true;
    }
    return false;
}

// True when a process took more than its second to end at TERM. A process that had to be killed at
// the end is counted already. A queue's consumer finishes its current job, and nobody promised how
// soon.
static bool is_late(const struct check *c, const struct process_record *p, int64_t asked_ns)
{
    bool killed = WIFSIGNALED(p->status) && WTERMSIG(p->status) == SIGKILL;

    return !scenario_is_queue(c->l->scenario) && asked_ns != CLOCK_NEVER &&
           !(killed && asked_ns >= c->l->drain_end_ns) && !is_paused(c->l, asked_ns, p->ended_ns) &&
           p->ended_ns - asked_ns > ending_ns + c->r->slack_ns;
}

bool check_exits(const struct check *c, struct err *e)
{
    const struct ledger *l = c->l;
    size_t stalled = 0; // number of ends that came late, perhaps only because of a stall

    (void)e;
    for (size_t i = 0; i < l->log->process_count; i++) {
        const struct process_record *p = &l->log->processes[i];
        int64_t asked_ns = term_ns(l, p);
        judged_add(c->r, METRIC_UNPLANNED_EXIT, 1, CAUSE_IS_NONE);
        find_end(c, p);
        if (!is_late(c, p, asked_ns))
            continue;
        if (stall_list_ns(&c->stalls, asked_ns, p->ended_ns) > 0)
            stalled++;
        else
            finding_add(c->r, METRIC_UNPLANNED_EXIT,
                "pid %d got TERM at %.3f s and ended %.3f s later", (int)p->pid,
                ledger_seconds(l, asked_ns), (double)(p->ended_ns - asked_ns) / 1e9);
    }
    if (stalled > 0)
        result_reason(
            c->r, "%zu collectors ended late while the harness itself stood still", stalled);
    return true;
}
