// Carries out the faults at their times, while the load runs in its own thread.
#include "run/run.h"

#include <math.h>

#include "fault/scheduler.h"
#include "os/interrupt.h"
#include "report/files/live.h"

// True when the plan is over: its time has passed (the last phase may have no inserts), every fault
// was begun and ended, and the load has ended. to_end: a fault that still has to end; NULL: none.
static bool plan_is_over(struct run *r, size_t begun_count, const struct fault_record *to_end)
{
    return clock_now_ns() >= r->ledger.start_ns + r->plan.end_ns &&
           begun_count == r->plan.fault_count && !to_end && atomic_load(&r->generator.done);
}

// Returns the mean latency, from the intended insert, of the tokens that were read since the
// interval began (p->began_ns); NAN: none was read. Moves p->txn past the transactions whose tokens
// were all read, so that the next call does not look at the whole run again.
static double interval_latency_ms(struct run *r, int64_t now_ns)
{
    const struct plan *plan = &r->plan;
    struct run_progress *p = &r->progress;
    int64_t sum_ns = 0, read = 0;

    for (size_t i = p->txn; i < plan->txn_count; i++) {
        const struct plan_txn *txn = &plan->txns[i];
        int64_t intended_ns = r->ledger.start_ns + txn->at_ns;
        bool all_read = true;
        // The plan is sorted by time, so no token of a later transaction can have been read either.
        if (intended_ns > now_ns)
            break;
        // Leaves out tokens that are rolled back, because they are never read, and those of the
        // backlog, because they have waited for the collector's start.
        for (uint32_t k = 0; k < txn->rows && !(txn->flags & (TXN_ROLLBACK | TXN_BACKLOG)); k++) {
            int64_t seen_ns = subject_seen_ns(r->subject, txn->first_token + k);
            all_read = all_read && seen_ns != 0;
            if (seen_ns <= p->began_ns || seen_ns > now_ns)
                continue;
            sum_ns += seen_ns - intended_ns;
            read++;
        }
        if (all_read && i == p->txn)
            p->txn++;
    }
    return read > 0 ? (double)sum_ns / (double)read / 1e6 : NAN;
}

// Updates the latency of the progress line once a second, so that a person can read it.
static void update_live_latency(struct run *r)
{
    int64_t now_ns = clock_now_ns();

    if (r->progress.began_ns == 0) {
        r->progress.line.latency_ms = NAN;
        r->progress.began_ns = r->ledger.start_ns;
    }
    if (now_ns - r->progress.began_ns < NS_PER_S)
        return;
    r->progress.line.latency_ms = interval_latency_ms(r, now_ns);
    r->progress.began_ns = now_ns;
}

void run_show(struct run *r, size_t begun_count, const char *what)
{
    struct progress *p = &r->progress.line;

    p->suite = r->options.suite;
    p->what = what;
    p->scenario = r->scenario->name;
    p->at_ns = clock_now_ns() - r->ledger.start_ns;
    p->whole_ns = r->plan.end_ns;
    p->committed = atomic_load(&r->generator.progress.tokens);
    p->planned = r->plan.token_count;
    p->delivered = subject_tokens(r->subject);
    p->faults = begun_count;
    p->faults_planned = r->plan.fault_count;
    // Programs that watch a run get the same figures as a person, even in a quiet run.
    live_show(r->options.live, p);
    if (r->options.quiet)
        return;
    update_live_latency(r);
    progress_show(p);
}

// Returns true when the fault is to be left out, and notes why in its record. There are two
// reasons. By the plan, it collides with another fault (`busy`) that still lasts then. Or it is a
// repetition of a fault (`every`), and the repetition before it took so long that it ended after
// this one's time, as when a collector cannot reconnect as fast as it is killed. The fault is left
// out and not postponed, so that the plan does not get longer.
static bool leave_out(struct run *r, size_t next)
{
    struct fault_record *f = &r->faults[next];
    uint32_t busy = r->plan.faults[next].busy; // index + 1 of the other fault; 0: none

    if (busy) {
        f->left_out = LEFT_OUT_BUSY;
        f->undone = true; // there is nothing to undo
        snprintf(f->evidence, sizeof f->evidence, "left out: %s was at work",
            r->faults[busy - 1].spec->verb->name);
        return true;
    }
    for (size_t i = next; i-- > 0;) {
        const struct fault_record *before = &r->faults[i];
        if (before->spec != f->spec || before->left_out)
            continue;
        // Only the repetition right before this one counts; earlier ones have ended before that one
        // began.
        if (before->ended_ns <= f->planned_ns)
            return false;
        f->left_out = LEFT_OUT_CANNOT_STRIKE;
        f->undone = true;
        snprintf(f->evidence, sizeof f->evidence, "left out: the one before was still at work");
        return true;
    }
    return false;
}

// True when a signal asks for an end, as it does where a run may be judged by a part of its load
// (interrupt_defer). Notes this for the verdict, and tells the user.
static bool is_asked_to_end(struct run *r)
{
    if (!interrupt_asked())
        return false;
    r->end.input.interrupted = true;
    fprintf(stderr,
        "%smailproof: %s: the load ends here, and the run is judged when its last tokens are out; "
        "once more to stop at once\n",
        r->options.quiet ? "" : "\n", r->scenario->name);
    return true;
}

bool run_carry_out_plan(struct run *r, struct err *e)
{
    size_t begun_count = 0;

    r->context.begun = r->faults;
    r->context.seed = r->scenario->seed;
    r->context.recovery_ns = r->scenario->recovery_limit_ns;
    for (;;) {
        int64_t begin_ns = begun_count < r->plan.fault_count
                               ? scheduler_begin_ns(r->faults, begun_count)
                               : CLOCK_NEVER;
        int64_t end_ns, now = clock_now_ns();
        // A server that was started again has another pid.
        observers_note_pid(&r->observers, &r->server);
        struct fault_record *to_end = scheduler_next_end(r->faults, begun_count, &end_ns);
        if (plan_is_over(r, begun_count, to_end) || subject_gave_up(r->subject, &r->end.gave_up) ||
            is_asked_to_end(r))
            break;
        if (subject_failed(r->subject, e))
            return false;
        // If an end and a begin are due at the same moment, the end comes first, so that two
        // repetitions of a fault do not overlap.
        if (end_ns <= now && end_ns <= begin_ns) {
            fault_end(&r->context, to_end);
            continue;
        }
        if (begin_ns <= now) {
            if (!leave_out(r, begun_count))
                fault_begin(&r->context, &r->faults[begun_count]);
            r->context.begun_count = ++begun_count;
            continue;
        }
        run_show(r, begun_count, "load");
        // The loop also notices that the plan is over, so it sleeps for RUN_TICK_NS at most.
        int64_t next_ns = clock_min(begin_ns, end_ns);
        if (!interrupt_sleep_until(clock_min(next_ns, now + RUN_TICK_NS)))
            return err_set(e, ERR_INTERRUPTED, "interrupted");
    }
    // Whatever ended the loop, every fault that is still at work is undone.
    int64_t ignored;
    for (struct fault_record *f;
         (f = scheduler_next_end(r->faults, begun_count, &ignored)) != NULL;)
        fault_end(&r->context, f);
    return true;
}
