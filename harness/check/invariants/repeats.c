// Judges duplicated: finds the repeated deliveries and those of them that a cause excuses.
//
// In this file, `first` is the line of a token's previous delivery, and `again` the line that has
// the token once more. A collector has the turn while it alone may take tokens (cursor mode). In
// shared mode, to lose the turn means to lose the tokens that it has taken.
//
// A repeated delivery needs a cause of its own:
// - A death: `first` is the last line of a process that died before `again` was read. A process
//   that ended by itself at TERM gives a cause only with exit code 75 or 70, by which it says that
//   its last line is not confirmed or that it failed, and only if, since `first` was written, a
//   fault hit this instance, a stall lasted, or others kept the processors away. The harness sees a
//   death up to slack after it happened.
// - A lost turn, with several collectors: `first` is the last line of a collector that lost its
//   turn, and another wrote `again`. The collector may even have returned and written more, if
//   another one that may have taken `first` over died meanwhile.
// - A late line (`late_lines`): a collector that lost its turn may write one line on its return,
//   with tokens that another wrote meanwhile.
//
// A soak ends a segment when its tokens are written and confirmed and none waits. So a token of an
// earlier segment has no cause but data that the server has lost since.
//
// Deliveries with a cause count as `repeated`. Those that come because the server itself lost the
// cursor's move count as `redelivered`.
//
// A collector lost its turn when
// - a fault kept it away (pause-collector, partition, half-open, exhaust-connections, or the server
//   away or paused) for bounds_hang_ns or more;
// - a fault kept it away, its session may have ended meanwhile or at most the grace before, and
//   more than the grace passed until it could have a new one (outlasts_grace). So terminate-backend
//   alone takes nobody's turn;
// - a stall of bounds_hang_ns or more came while it had the turn.
#include "check/inside.h"

#include <sys/wait.h>

#include "check/bounds.h"

#define NO_LINE UINT32_MAX

struct repeats {
    const struct check *c;
    uint32_t *before;   // per token: the line of its previous delivery; NO_LINE: none
    uint32_t *last;     // per process: its last line in the run
    uint32_t *latest;   // per process: its last line up to here
    uint32_t *previous; // per process: the line before `latest`
    uint32_t late_line; // the latest line that was counted as late
};

// --- lost turns -----------------------------------------------------

// True for a fault that stops the subject and may end sessions, unless it hits the process, its
// reader or its sender.
static bool ends_sessions(const struct verb *v)
{
    return v->does == STOPS && v->hits != HITS_PROCESS && v->hits != HITS_READER &&
           v->hits != HITS_SENDER && v->ends != ENDS_NOTHING;
}

// True when sessions were gone for longer than the grace, within which a collector may come back
// before another takes over. They ended while the strike `away` kept collectors away, or at most
// the grace before it. A new session takes time to open, so they count as gone for a quarter of the
// grace after the strike as well, or for returns_within if that is shorter.
static bool outlasts_grace(const struct check *c, const struct strike *away)
{
    const struct timeline *t = &c->timeline;
    int64_t grace_ns = bounds_grace_ns(c->l->scenario);
    int64_t back_ns =
        away->undone_ns + clock_min(grace_ns / 4, scenario_returns_ns(c->l->scenario));
    const struct strike *k = NULL;

    // A session that ended after back_ns - grace_ns was gone for less than the grace.
    while ((k = timeline_strike(t, k, EVERY, away->struck_ns - grace_ns, back_ns - grace_ns)))
        if (ends_sessions(k->verb))
            return true;
    return false;
}

// True when this strike took a collector's turn to take tokens or, in shared mode, the tokens that
// it had taken: others could take over before the collector was back.
static bool takes_turn(const struct check *c, const struct strike *away)
{
    return away->verb->keeps_away &&
           (away->undone_ns - away->struck_ns >= bounds_hang_ns(c->l->scenario) ||
               outlasts_grace(c, away));
}

// --- causes -----------------------------------------------------------------------

// True when a writer that ended by itself at TERM may have left its last line unconfirmed: it says
// by its exit code that it did or that it failed, and between the line and its end a fault hit its
// instance, a stall of any length lasted, or others kept the processors from it.
static bool ended_unconfirmed(
    const struct check *c, const struct process_record *p, const struct line_record *line)
{
    int64_t written_ns = check_written_ns(c, line);

    return check_says_unconfirmed(WEXITSTATUS(p->status)) &&
           check_kept_by(c, line->process, written_ns, p->ended_ns, 0,
               check_ending_disturbed(c, p->instance, written_ns, p->ended_ns))
                   .kind != CAUSE_NONE;
}

// True when the line `first` was the last of a process that died before the end of the drain,
// perhaps before it could confirm the line, and another process wrote `again`. The line `again` may
// be read up to slack before ended_ns, because the harness sees an end a little after the death. A
// process that ended by itself at TERM must have confirmed its last line, unless ended_unconfirmed
// excuses it; but the exit code of a queue's worker says nothing about that.
static bool died_unconfirmed(
    const struct repeats *t, uint32_t first, const struct line_record *again)
{
    const struct ledger *l = t->c->l;
    uint32_t writer = l->log->lines[first].process;
    const struct process_record *p = &l->log->processes[writer];
    // Exit code 0 says that all is confirmed, even where something other than TERM asked for the
    // end.
    bool orderly = check_term_ns(t->c, p) != CLOCK_NEVER || (p->asked && p->status == 0);
    // A runtime may tell the signal that ended it by an exit code of 128 or more.
    bool by_itself = orderly && WIFEXITED(p->status) && WEXITSTATUS(p->status) < check_by_signal &&
                     !scenario_is_queue(l->scenario);

    return p->ended_ns < l->drain_end_ns && t->last[writer] == first && again->process != writer &&
           again->read_ns >= p->ended_ns - t->c->r->slack_ns &&
           (!by_itself || ended_unconfirmed(t->c, p, &l->log->lines[first]));
}

// Returns when the line was confirmed at the latest: when the next line of its process was read.
// CLOCK_NEVER: there is none.
static int64_t confirmed_ns(const struct ledger *l, uint32_t line)
{
    for (size_t i = line + 1; i < l->log->line_count; i++) {
        if (l->log->lines[i].process == l->log->lines[line].process)
            return l->log->lines[i].read_ns;
    }
    return CLOCK_NEVER;
}

// True when an instance other than the writer's died between the two times. It may have taken over
// the tokens of the writer's line, and after its death another had to write them.
static bool heir_died(const struct ledger *l, uint32_t writer, int64_t from_ns, int64_t until_ns)
{
    for (size_t i = 0; i < l->log->process_count; i++) {
        const struct process_record *p = &l->log->processes[i];
        if (p->instance != l->log->processes[writer].instance && p->ended_ns >= from_ns &&
            p->ended_ns <= until_ns)
            return true;
    }
    return false;
}

// True when the writer of the line `first` lives, but lost its turn before it could confirm this
// line. Once it has written another line, only the death of an instance that may have taken the
// tokens over explains why they come again.
static bool lost_turn_unconfirmed(
    const struct repeats *t, uint32_t first, const struct line_record *again)
{
    const struct ledger *l = t->c->l;
    const struct line_record *line = &l->log->lines[first];
    int64_t written_ns = check_written_ns(t->c, line);
    // When the writer's next line was read; CLOCK_NEVER: none has come by now.
    int64_t next_ns = t->latest[line->process] != first ? confirmed_ns(l, first) : CLOCK_NEVER;
    bool returned = again->process == line->process || next_ns < check_written_ns(t->c, again);

    int instance = l->log->processes[line->process].instance;
    int64_t slack_ns = t->c->r->slack_ns;
    struct cause lost = CAUSE_IS_NONE;
    const struct strike *k = NULL;

    while ((
        k = timeline_strike(&t->c->timeline, k, instance, written_ns - slack_ns, again->read_ns))) {
        bool between = written_ns <= k->struck_ns + slack_ns && next_ns >= k->undone_ns;
        // If the writer has returned, the strike must lie between this line and its next one.
        if (takes_turn(t->c, k) &&
            (!returned || (between && heir_died(l, line->process, k->struck_ns, again->read_ns))))
            lost = k->cause;
    }
    // A stall hits no particular instance, and nobody knows who lost the turn by it. But a
    // collector that writes again after the stall still had its turn.
    if (!returned)
        lost = check_kept_by(
            t->c, NO_PROCESS, written_ns, again->read_ns, bounds_hang_ns(l->scenario), lost);
    return lost.kind != CAUSE_NONE;
}

// True when the line `again` is a late line: its collector took the tokens, lost its turn before it
// could write them, and wrote the line all the same when it came back. All of this must be true, so
// that one line is excused for each lost turn:
// - A fault took the turn of the collector that wrote `again`.
// - `again` is the first line that this process has written since the fault struck.
// - Another process wrote the line `first`, which has the same token, after the fault struck.
static bool is_late_line(const struct repeats *t, uint32_t first, uint32_t again)
{
    const struct ledger *l = t->c->l;
    const struct line_record *line = &l->log->lines[first], *late = &l->log->lines[again];
    // `again` is the process's latest line, so this is the line before it.
    uint32_t before = t->previous[late->process];
    int64_t before_ns =
        before == NO_LINE ? INT64_MIN : check_written_ns(t->c, &l->log->lines[before]);

    int instance = l->log->processes[late->process].instance;
    int64_t slack_ns = t->c->r->slack_ns;
    const struct strike *k = NULL;

    while (line->process != late->process &&
           (k = timeline_strike(&t->c->timeline, k, instance, INT64_MIN, late->read_ns))) {
        if (takes_turn(t->c, k) && before_ns <= k->struck_ns + slack_ns &&
            line->read_ns >= k->struck_ns - slack_ns)
            return true;
    }
    return false;
}

// Returns what excuses that a token of the line `first` came again in the line `again`: the death
// or the lost turn of the writer of `first`, or that `again` is a late line, which is then counted.
// CAUSE_NONE: nothing does.
static struct cause why_again(struct repeats *t, uint32_t first, uint32_t again)
{
    const struct ledger *l = t->c->l;
    const struct line_record *line = &l->log->lines[again];
    struct cause batch = {CAUSE_BATCH, first};

    if (died_unconfirmed(t, first, line))
        return batch;
    // A single collector loses its turn to nobody.
    if (l->scenario->collector.instances == 1)
        return CAUSE_IS_NONE;
    if (lost_turn_unconfirmed(t, first, line))
        return batch;
    if (!is_late_line(t, first, again))
        return CAUSE_IS_NONE;
    // A late line counts once, however many tokens it repeats.
    t->c->r->values[METRIC_LATE_LINES] += t->late_line != again;
    t->late_line = again;
    return (struct cause){CAUSE_BATCH, again};
}

// Describes both readings, because the second one, and who wrote it, shows what went wrong.
static void add_readings(struct repeats *t, uint32_t token, uint32_t first, uint32_t again)
{
    const struct ledger *l = t->c->l;
    const struct line_record *line = &l->log->lines[first], *later = &l->log->lines[again];
    const char *who = scenario_is_queue(l->scenario) ? "consumer" : "collector";
    char name[LEDGER_FULL_NAME_MAX];

    ledger_full_name(l, token, name);
    finding_add(t->c->r, METRIC_DUPLICATED,
        "%s: committed at %.3f s, read at %.3f s from %s %d and at %.3f s from %s %d", name,
        ledger_seconds(l, ledger_txn(l, token)->ended_ns), ledger_seconds(l, line->read_ns), who,
        l->log->processes[line->process].instance, ledger_seconds(l, later->read_ns), who,
        l->log->processes[later->process].instance);
    finding_add_faults(t->c->r, METRIC_DUPLICATED, l, line->read_ns);
}

// Judges a repeated delivery: as redelivered when the server lost data, as repeated when another
// cause excuses it, or else as duplicated.
static void judge_repeat(struct repeats *t, uint32_t token, uint32_t first, uint32_t again)
{
    struct result *r = t->c->r;
    const struct ledger *l = t->c->l;

    if (check_server_forgot(l, l->log->lines[first].read_ns, l->log->lines[again].read_ns,
            confirmed_ns(l, first))) {
        r->values[METRIC_REDELIVERED]++;
        // The data may have been lost by any of several faults; the first stands for them.
        judged_add(r, METRIC_DUPLICATED, 1, (struct cause){CAUSE_FAULT, 0});
        return;
    }
    struct cause cause = why_again(t, first, again);
    judged_add(r, METRIC_DUPLICATED, 1, cause);
    if (cause.kind == CAUSE_NONE)
        add_readings(t, token, first, again);
    else
        r->values[METRIC_REPEATED]++;
}

// --- all deliveries, in the order in which they were read ---------------------------

// Judges each delivery of a token that was delivered before.
static void walk_repeats(struct repeats *t)
{
    const struct ledger *l = t->c->l;
    const struct subject_log *log = l->log;
    uint32_t noted = 0;

    for (uint32_t i = 0; i < log->line_count; i++)
        t->last[log->lines[i].process] = i;
    for (size_t i = 0; i < log->delivery_count; i++) {
        const struct delivery *d = &log->deliveries[i];
        // Lines without a delivery count as written, too: after them, the line before is no longer
        // the process's last.
        for (; noted <= d->line; noted++) {
            uint32_t process = log->lines[noted].process;
            t->previous[process] = t->latest[process];
            t->latest[process] = noted;
        }
        // A flag: this is no delivery, or one that is judged elsewhere, such as a forged one.
        if (!check_delivers(l, d))
            continue;
        uint32_t first = t->before[d->token];
        t->before[d->token] = d->line;
        // First deliveries count as judged: the judged share is a share of all deliveries.
        if (first == NO_LINE)
            judged_add(t->c->r, METRIC_DUPLICATED, 1, CAUSE_IS_NONE);
        else
            judge_repeat(t, d->token, first, d->line);
    }
}

void check_repeats(const struct check *c)
{
    size_t processes = c->l->log->process_count, tokens = c->l->plan->token_count;
    uint32_t *lines FREED_BY(memory_free) =
        memory_allocate((tokens + 3 * processes) * sizeof *lines);
    struct repeats t = {.c = c, .before = lines, .late_line = NO_LINE};

    for (size_t i = 0; i < tokens + 3 * processes; i++)
        lines[i] = NO_LINE;
    // One allocation holds all four arrays.
    t.last = lines + tokens;
    t.latest = t.last + processes;
    t.previous = t.latest + processes;
    c->r->values[METRIC_REDELIVERED] = 0;
    c->r->values[METRIC_REPEATED] = 0;
    c->r->values[METRIC_LATE_LINES] = 0;
    // In leased mode a token comes again for other reasons, which leased_outcome.c judges.
    if (c->l->scenario->collector.dequeue != DEQUEUE_LEASED)
        walk_repeats(&t);
}
