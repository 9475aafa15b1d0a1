// Fault windows, and the time until fresh tokens came out after a fault.
#include "check/inside.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "base/clock.h"

// The state by which recoveries are judged.
struct recovery {
    const struct check *c;
    int64_t *over_ns; // per fault: from this time on fresh tokens are due within recovery_limit. It
                      // is the fault's end, or the takeover when the fault hits one of several
                      // instances
    int64_t *back_ns; // per fault: when its outage ended, not before over_ns
};

static bool recovery_make(struct recovery *t, const struct check *c)
{
    const struct ledger *l = c->l;

    *t = (struct recovery){c, calloc(l->fault_count + 1, sizeof *t->over_ns),
        calloc(l->fault_count + 1, sizeof *t->back_ns)};
    if (!t->over_ns || !t->back_ns)
        return false;
    for (size_t i = 0; i < l->fault_count; i++)
        t->over_ns[i] = t->back_ns[i] = l->faults[i].ended_ns;
    for (size_t i = 0; i < c->outages.count; i++) {
        const struct outage *o = &c->outages.items[i];
        uint32_t fault = o->cause.index;
        if (o->cause.kind != CAUSE_FAULT)
            continue;
        bool for_good = o->others_ns != CLOCK_NEVER && l->faults[fault].spec->for_ns == FOR_REST;
        t->over_ns[fault] = for_good ? o->others_ns : clock_min(t->over_ns[fault], o->others_ns);
        t->back_ns[fault] = t->over_ns[fault] > o->until_ns ? t->over_ns[fault] : o->until_ns;
    }
    return true;
}

static void recovery_fini(struct recovery *t)
{
    free(t->over_ns);
    free(t->back_ns);
}

// Returns how much of a stretch of time the windows of faults cover. The records are sorted by
// their start, but windows overlap, so each instant counts once. A fault that hits one of several
// instances counts only until the others have taken over. A fault after the judged one counts until
// the subject's next session, because in a storm of kills a slow start is no failure to recover.
static int64_t covered_ns(
    const struct recovery *t, const struct fault_record *judged, int64_t from, int64_t until)
{
    const struct ledger *l = t->c->l;
    int64_t covered = 0, done = from;

    for (size_t i = 0; i < l->fault_count; i++) {
        const struct fault_record *f = &l->faults[i];
        if (f->began_ns == 0)
            continue;
        int64_t begin = f->began_ns > done ? f->began_ns : done;
        int64_t end = clock_min(f > judged ? t->back_ns[i] : t->over_ns[i], until);
        if (end <= begin)
            continue;
        covered += end - begin;
        done = end;
    }
    return covered;
}

// Exit codes of a collector that has lost its sender.
static const int output_failed = 74;
static const int nobody_answers = 78;

// Returns the cause that excuses the end of a process whose sender died: it gives back the
// unanswered tokens and ends.
static struct cause after_sender_died(const struct ledger *l, int64_t from_ns, int64_t until_ns)
{
    bool dies = l->scenario->collector.sender.dies > 0;

    for (size_t i = dies ? l->log->process_count : 0; i-- > 0;) {
        const struct process_record *p = &l->log->processes[i];
        int code = WIFEXITED(p->status) ? WEXITSTATUS(p->status) : 0;
        if (p->asked && (code == output_failed || code == nobody_answers) &&
            p->ended_ns - harm_sender_died_ns(l->scenario) < until_ns &&
            p->ended_ns + l->scenario->recovery_limit_ns > from_ns)
            return (struct cause){CAUSE_SENDER, (uint32_t)i};
    }
    return CAUSE_IS_NONE;
}

struct cause check_disturbed(const struct ledger *l, int64_t from_ns, int64_t until_ns)
{
    for (size_t i = l->fault_count; i-- > 0;) {
        const struct fault_record *f = &l->faults[i];
        if (f->began_ns && f->began_ns < until_ns &&
            f->ended_ns + l->scenario->recovery_limit_ns > from_ns)
            return (struct cause){CAUSE_FAULT, (uint32_t)i};
    }
    return after_sender_died(l, from_ns, until_ns);
}

static void append_fault(char *text, size_t size, const struct ledger *l,
    const struct fault_record *f, const char *before)
{
    size_t len = strlen(text);

    snprintf(text + len, size - len, "%s%s %.3f-%.3f s", before, f->spec->verb->name,
        ledger_seconds(l, f->began_ns), ledger_seconds(l, f->ended_ns));
}

void finding_add_faults(struct result *r, enum metric_id id, const struct ledger *l, int64_t at_ns)
{
    struct finding *found = &r->findings[id];
    const struct fault_record *before = NULL, *after = NULL;

    if (found->count > FINDING_EXAMPLES)
        return;
    for (size_t i = 0; i < l->fault_count && !after; i++) {
        const struct fault_record *f = &l->faults[i];
        if (f->began_ns && f->began_ns <= at_ns)
            before = f;
        else if (f->began_ns)
            after = f;
    }
    char *text = found->examples[found->example_count - 1];
    if (before)
        append_fault(text, sizeof found->examples[0], l, before, "; faults: ");
    if (after)
        append_fault(text, sizeof found->examples[0], l, after, before ? ", " : "; faults: ");
}

bool check_is_fresh(const struct ledger *l, const struct line_record *line, int64_t since_ns)
{
    for (uint32_t i = 0; i < line->tokens; i++) {
        uint32_t token = l->log->deliveries[line->first_delivery + i].token;
        if (token < l->plan->token_count && ledger_txn(l, token)->commit_ns >= since_ns)
            return true;
    }
    return false;
}

// Returns when the first token that was committed after since_ns was read. Sets *working_ns to the
// beginning of the chain of full lines that led to this token, or that the end of the drain cut
// off. A collector that works off the backlog counts as recovered.
static int64_t first_fresh_ns(const struct check *c, int64_t since_ns, int64_t *working_ns)
{
    const struct ledger *l = c->l;

    for (size_t i = 0; i < l->log->line_count; i++) {
        const struct line_record *line = &l->log->lines[i];
        if (line->read_ns <= since_ns || line->state != LINE_WHOLE ||
            !check_is_fresh(l, line, since_ns))
            continue;
        *working_ns = c->busy_since[i] > since_ns ? c->busy_since[i] : since_ns;
        return line->read_ns;
    }
    *working_ns = c->draining_since_ns > since_ns ? c->draining_since_ns : since_ns;
    return CLOCK_NEVER;
}

// Returns the first acknowledgement after since_ns of a token that must come out.
static int64_t first_commit_ns(const struct ledger *l, int64_t since_ns)
{
    int64_t first = CLOCK_NEVER;

    for (uint32_t t = 0; t < l->plan->token_count; t++) {
        const struct txn_record *txn = ledger_txn(l, t);
        enum token_kind kind = l->plan->kinds[t];
        if (txn->outcome == TXN_COMMITTED && txn->commit_ns >= since_ns &&
            token_kind_deliverable(kind) && ledger_changed_ns(l, t) == CLOCK_NEVER)
            first = clock_min(first, txn->ended_ns);
    }
    return first;
}

// Returns the longest time for which others can have kept the processors from a process that lived
// between the two times. A collector starts and connects no faster than it gets a processor.
static int64_t denied_ns(const struct ledger *l, int64_t from_ns, int64_t until_ns)
{
    int64_t longest_ns = 0;

    for (uint32_t i = 0; i < l->log->process_count; i++) {
        const struct process_record *p = &l->log->processes[i];
        if (p->started_ns >= until_ns || p->ended_ns <= from_ns)
            continue;
        int64_t ns = check_denied_ns(l, i, from_ns, until_ns);
        longest_ns = ns > longest_ns ? ns : longest_ns;
    }
    return longest_ns;
}

static void check_fault(const struct recovery *t, const struct fault_record *f, double *recovery_ms)
{
    const struct check *c = t->c;
    const struct ledger *l = c->l;
    int64_t limit_ns = l->scenario->recovery_limit_ns, since_ns = t->over_ns[f - l->faults];
    int64_t working_ns, fresh_ns = first_fresh_ns(c, since_ns, &working_ns);

    if (fresh_ns != CLOCK_NEVER)
        *recovery_ms = (double)(fresh_ns - since_ns) / 1e6;
    // The time to recover counts from the first token that could come out.
    int64_t from_ns = fresh_ns != CLOCK_NEVER && fresh_ns - since_ns < limit_ns
                          ? fresh_ns
                          : first_commit_ns(l, since_ns);
    int64_t until_ns = clock_min(working_ns, l->drain_end_ns);
    if (from_ns == CLOCK_NEVER)
        return;
    judged_add(c->r, METRIC_UNRECOVERED, 1, CAUSE_IS_NONE);
    int64_t beyond_ns = until_ns - from_ns - limit_ns;
    if (beyond_ns <= 0 || beyond_ns <= covered_ns(t, f, from_ns, until_ns) +
                                           denied_ns(l, from_ns, until_ns) +
                                           stall_list_ns(&c->stalls, from_ns, until_ns))
        return;
    finding_add(c->r, METRIC_UNRECOVERED, "%s at %.3f s: no fresh token within %.1f s of %s",
        f->spec->verb->name, ledger_seconds(l, f->began_ns), (double)limit_ns / 1e9,
        since_ns == f->ended_ns ? "its end" : "the time in which others take over");
}

bool check_recovery(const struct check *c, struct err *e)
{
    struct result *r = c->r;
    struct recovery t;
    double longest = NAN;

    if (!recovery_make(&t, c)) {
        recovery_fini(&t);
        return err_memory(e);
    }
    for (size_t i = 0; i < c->l->fault_count; i++) {
        const struct fault_record *f = &c->l->faults[i];
        r->recovery_ms[i] = NAN;
        if (f->began_ns == 0 || !f->ok)
            continue;
        check_fault(&t, f, &r->recovery_ms[i]);
        if (!(r->recovery_ms[i] <= longest))
            longest = isnan(r->recovery_ms[i]) ? longest : r->recovery_ms[i];
    }
    r->values[METRIC_RECOVERY_MAX] = longest;
    recovery_fini(&t);
    return true;
}
