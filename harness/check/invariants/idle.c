// Judges idle_instance: several collectors share the work, and one of them writes nothing though it
// could work.
//
// The invariant is broken when the instance could work for two seconds in one piece, and wrote
// nothing. It could work while all of this holds:
// - More tokens wait than two batches, and four further batches for each other instance, which may
//   have taken them already.
// - Its process is at least a second old, so that it has had the time to connect.
// - No fault and no stall keeps it from work, it has a processor, and the budget is not spent.
// - In leased mode, fewer than `MAILROOM_IN_FLIGHT` of its lines await an answer.
#include "check/invariants/backlog.h"

static const int64_t idle_ns = 2 * NS_PER_S;
static const int64_t session_ns = NS_PER_S; // time that a new process needs to connect
enum { TAKEN_BATCHES = 4, LEFT_BATCHES = 2 };

struct idle {
    const struct check *c;
    struct backlog backlog;
    int32_t *unanswered; // owned; per step of the backlog: how many lines of the instance awaited
                         // answers
    int instance;
    size_t line; // index of the next line that wrote_until will look at
};

// Counts, for each step of the backlog, the lines of the instance that await answers. In leased
// mode a collector with too many of them writes no more.
static void count_unanswered(struct idle *t)
{
    const struct subject_log *log = t->c->l->log;
    struct backlog *b = &t->backlog;

    for (size_t i = 0; i <= b->count; i++)
        t->unanswered[i] = 0;
    for (size_t i = 0; t->c->leased.on && i < log->line_count; i++) {
        const struct line_record *line = &log->lines[i];
        if (log->processes[line->process].instance != t->instance)
            continue;
        // These are changes from step to step; the sums below make counts of them.
        t->unanswered[backlog_step(b, line->read_ns)]++;
        t->unanswered[backlog_step(b, line_answered_ns(t->c->l, &t->c->leased, line)) + 1]--;
    }
    for (size_t i = 1; i <= b->count; i++)
        t->unanswered[i] += t->unanswered[i - 1];
}

// True when the budget was spent at the last line so far, or at the next one.
static bool is_spent(const struct idle *t)
{
    const struct check *c = t->c;

    return (t->line > 0 && c->spent[t->line - 1]) ||
           (t->line < c->l->log->line_count && c->spent[t->line]);
}

// True when a process of this instance was alive and had had the time to connect.
static bool lives(const struct ledger *l, int instance, int64_t at_ns)
{
    for (size_t i = 0; i < l->log->process_count; i++) {
        const struct process_record *p = &l->log->processes[i];
        if (p->instance == instance && p->started_ns + session_ns <= at_ns && p->ended_ns > at_ns)
            return true;
    }
    return false;
}

// True when the instance wrote a line between at_ns and the at_ns of the last call.
static bool wrote_until(struct idle *t, int64_t at_ns)
{
    const struct subject_log *log = t->c->l->log;
    bool wrote = false;

    for (; t->line < log->line_count && log->lines[t->line].read_ns <= at_ns; t->line++)
        wrote = wrote || log->processes[log->lines[t->line].process].instance == t->instance;
    return wrote;
}

// True when nothing kept the instance from writing in this step of the backlog but waits for a
// processor, which check_instance takes off. A stall of any length (0) counts, but not a span that
// only touches the step.
static bool could_work(const struct idle *t, size_t step)
{
    const struct check *c = t->c;
    int64_t from_ns = backlog_at_ns(&t->backlog, step), until_ns = from_ns + t->backlog.step_ns;
    const struct span *span = timeline_span(&c->timeline, t->instance, from_ns + 1, until_ns - 1);

    return lives(c->l, t->instance, from_ns) && !is_spent(t) &&
           !(c->leased.on && t->unanswered[step] >= c->leased.in_flight) &&
           check_kept_by(c, NO_PROCESS, from_ns, until_ns, 0, span ? span->cause : CAUSE_IS_NONE)
                   .kind == CAUSE_NONE;
}

// True when more than two batches wait, not counting those that the other instances may have taken
// already.
static bool is_left(const struct idle *t, size_t step)
{
    const struct scenario_collector *s = &t->c->l->scenario->collector;
    int64_t taken = (int64_t)TAKEN_BATCHES * s->batch_limit * (s->instances - 1);

    return t->backlog.waiting[step] - taken > (int64_t)LEFT_BATCHES * s->batch_limit;
}

// Adds a finding for each stretch in which the instance could work, but wrote nothing.
static void check_instance(struct idle *t)
{
    const struct check *c = t->c;
    int64_t since_ns = CLOCK_NEVER;
    bool told = false;

    for (size_t i = 0; i < t->backlog.count; i++) {
        int64_t at_ns = backlog_at_ns(&t->backlog, i);
        bool able = is_left(t, i) && could_work(t, i);
        if (able)
            judged_add(c->r, METRIC_IDLE_INSTANCE, (double)t->backlog.step_ns / 1e9, CAUSE_IS_NONE);
        // Any reason not to write lets the two seconds begin anew, because idle time must be in one
        // piece.
        if (wrote_until(t, at_ns) || !able) {
            since_ns = able ? at_ns : CLOCK_NEVER;
            told = false;
            continue;
        }
        since_ns = clock_min(since_ns, at_ns);
        if (told || at_ns - since_ns < idle_ns ||
            check_awake_ns(c, t->instance, since_ns, at_ns) < idle_ns)
            continue;
        // One finding for each stretch, however long it lasts.
        told = true;
        finding_add(c->r, METRIC_IDLE_INSTANCE,
            "collector %d wrote nothing from %.3f s to %.3f s beside a backlog of %d %s",
            t->instance, ledger_seconds(c->l, since_ns), ledger_seconds(c->l, at_ns),
            (int)t->backlog.waiting[i], NOUN(t->backlog.waiting[i], "token", "tokens"));
    }
}

void check_idle_instances(const struct check *c)
{
    const struct scenario *s = c->l->scenario;
    struct idle t = {.c = c};

    // Where instances take turns, all but one write nothing.
    if (s->collector.instances == 1 || !scenario_shares(s))
        return;
    backlog_make(&t.backlog, c->l);
    t.unanswered = memory_zeroed(t.backlog.count + 1, sizeof *t.unanswered);
    for (t.instance = 0; t.instance < s->collector.instances; t.instance++) {
        t.line = 0;
        count_unanswered(&t);
        check_instance(&t);
    }
    free(t.unanswered);
    free(t.backlog.waiting);
}
