// Judges unrecovered: the time until fresh tokens came out after a fault.
//
// The time counts from a fault's end or from when others must work in the place of the struck
// instance. The subject has also recovered when a chain of full lines that leads to a fresh token
// began in time. Time does not count
// - while other strikes last, or the processes that they ended start again;
// - while the subject returns from them, but only for the longest of these returns;
// - in stalls, and while others keep the processors from the collector.
//
// A slow fault lengthens the limit as it lengthens the slack of a token, because a recovery takes
// about as many round trips as a token's way: by as long as the fault lasts and one step more, but
// by ten steps at most (slowdowns.c).
#include "check/inside.h"

#include <math.h>

// Returns the strike of a fault; NULL: the fault did not stop the subject. The index of a sender's
// death is that of a process.
static const struct strike *strike_of(const struct check *c, uint32_t fault)
{
    for (size_t i = 0; i < c->timeline.strike_count; i++) {
        const struct strike *k = &c->timeline.strikes[i];
        if (k->cause.kind != CAUSE_SENDER && k->cause.index == fault)
            return k;
    }
    return NULL;
}

// Returns from when on fresh tokens are due within recovery_limit: the fault's end, or the time at
// which others must work in the place of the struck instance, if that is earlier or nobody starts
// the instance again.
static int64_t recovery_from_ns(const struct fault_record *f, const struct strike *k)
{
    if (!k || k->others_ns == CLOCK_NEVER)
        return f->ended_ns;
    return k->for_good ? k->others_ns : clock_min(f->ended_ns, k->others_ns);
}

// Returns how much of a stretch of time is taken by strikes other than the judged one. The strikes
// are sorted by their start. They may overlap, but no instant counts twice. A strike counts only
// until other instances have taken over, and one that ended a process counts until the next process
// has had its time to start. Where nobody takes over, the struck instances need time after the
// strike until they work again. Of these times only the longest is added: with one for each strike,
// a collector that returns slowly would be excused as often as it is struck.
static int64_t covered_ns(
    const struct check *c, const struct strike *judged, int64_t from_ns, int64_t until_ns)
{
    int64_t lasted_ns = 0, return_ns = 0, done_ns = from_ns; // done_ns: up to here it is counted

    for (size_t i = 0; i < c->timeline.strike_count; i++) {
        const struct strike *k = &c->timeline.strikes[i];
        bool ends_process = k->verb->ends == ENDS_PROCESSES;
        int64_t over_ns = clock_min(ends_process ? k->back_ns : k->undone_ns, k->others_ns);
        int64_t begin_ns = clock_max(k->struck_ns, done_ns), end_ns = clock_min(over_ns, until_ns);
        // The limit already gives the judged fault its time.
        if (k == judged || k->struck_ns >= until_ns || over_ns < from_ns)
            continue;
        if (k->others_ns == CLOCK_NEVER)
            return_ns = clock_max(return_ns, clock_min(k->back_ns, until_ns) - end_ns);
        if (end_ns <= begin_ns)
            continue;
        lasted_ns += end_ns - begin_ns;
        done_ns = end_ns;
    }
    return lasted_ns + return_ns;
}

// Returns when the first fresh line was read: a whole line with a token whose COMMIT was sent after
// since_ns. CLOCK_NEVER: there is none. A collector that works off the backlog counts as recovered,
// so *working_ns is set to the beginning of the chain of full lines that led to the fresh line or,
// without a fresh line, of the chain that still lasted at the end of the drain.
static int64_t first_fresh_ns(const struct check *c, int64_t since_ns, int64_t *working_ns)
{
    const struct ledger *l = c->l;

    for (size_t i = 0; i < l->log->line_count; i++) {
        const struct line_record *line = &l->log->lines[i];
        if (line->read_ns <= since_ns || line->state != LINE_WHOLE ||
            !check_is_fresh(l, line, since_ns))
            continue;
        *working_ns = clock_max(c->busy_since_ns[i], since_ns);
        return line->read_ns;
    }
    *working_ns = clock_max(c->draining_since_ns, since_ns);
    return CLOCK_NEVER;
}

// Returns the first acknowledgement of a fresh token, whose COMMIT was sent after since_ns, that
// must come out; CLOCK_NEVER: there is none.
static int64_t first_commit_ns(const struct ledger *l, int64_t since_ns)
{
    int64_t first = CLOCK_NEVER;

    for (uint32_t t = 0; t < l->plan->token_count; t++) {
        const struct txn_record *txn = ledger_txn(l, t);
        if (txn->outcome == TXN_COMMITTED && txn->commit_ns >= since_ns && ledger_must_come(l, t))
            first = clock_min(first, txn->ended_ns);
    }
    return first;
}

// Judges whether fresh tokens came within recovery_limit of since_ns (recovery_from_ns), after
// which their COMMIT was sent. Sets *recovery_ms to the time from then until the first of them, if
// one came.
static void check_fault(const struct check *c, uint32_t fault, double *recovery_ms)
{
    const struct ledger *l = c->l;
    const struct fault_record *f = &l->faults[fault];
    const struct strike *k = strike_of(c, fault);
    int64_t limit_ns = l->scenario->recovery_limit_ns, since_ns = recovery_from_ns(f, k);
    int64_t working_ns, fresh_ns = first_fresh_ns(c, since_ns, &working_ns);

    if (fresh_ns != CLOCK_NEVER)
        *recovery_ms = (double)(fresh_ns - since_ns) / 1e6;
    if (fresh_ns != CLOCK_NEVER && fresh_ns - since_ns < limit_ns) {
        judged_add(c->r, METRIC_UNRECOVERED, 1, CAUSE_IS_NONE);
        return;
    }
    // No fresh token can come before one is committed, so the time to recover counts from then.
    int64_t from_ns = first_commit_ns(l, since_ns);
    int64_t until_ns = clock_min(working_ns, l->drain_end_ns);
    if (from_ns == CLOCK_NEVER)
        return;
    judged_add(c->r, METRIC_UNRECOVERED, 1, CAUSE_IS_NONE);
    // When the first fresh token could come, the subject was writing full lines, and it went on
    // until that token came.
    if (until_ns <= from_ns)
        return;
    // check_slack adds to the run's slack only the time of slow faults.
    limit_ns += check_slack(c, from_ns, until_ns).ns - c->r->slack_ns;
    // check_left takes off stalls and waits for a processor: a collector starts and connects no
    // faster than it gets one.
    int64_t free_ns = until_ns - from_ns - covered_ns(c, k, from_ns, until_ns);
    if (until_ns - from_ns <= limit_ns ||
        check_left(c, ANY_PROCESS, from_ns, until_ns, free_ns, 1).ns <= limit_ns)
        return;
    finding_add(c->r, METRIC_UNRECOVERED, "%s at %.3f s: no fresh token within %.1f s of %s",
        f->spec->verb->name, ledger_seconds(l, f->began_ns), (double)limit_ns / 1e9,
        since_ns == f->ended_ns ? "its end" : "the time in which others take over");
}

void check_recovery(const struct check *c)
{
    struct result *r = c->r;
    double longest = NAN;

    for (uint32_t i = 0; i < c->l->fault_count; i++) {
        const struct fault_record *f = &c->l->faults[i];
        r->recovery_ms[i] = NAN;
        // A fault that took no effect leaves nothing to recover from.
        if (f->began_ns == 0 || !f->ok)
            continue;
        check_fault(c, i, &r->recovery_ms[i]);
        longest = fmax(longest, r->recovery_ms[i]); // NAN only while both are
    }
    r->values[METRIC_RECOVERY_MAX] = longest;
}
