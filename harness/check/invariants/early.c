// Judges early: a short line came before the timeout of its tokens.
//
// A token's announcement, the NOTIFY with its insert, opens the window of a batch: the batch fires,
// and becomes a line, T later (the batch timeout), or when it is full. A line is judged when it is
// short and holds a token that no line held before. It is early unless one of these is true:
// - The COMMIT of a token that this line or a later one delivered for the first time was sent T
//   before the line was read (less 2 ms, because clocks are read on both sides of a pipe).
// - A token that never came out opened a window, which the process's short line before this one did
//   not close, and which may have fired when this line was written. Where several share the work,
//   any token may have opened one. An announcement arrives between the COMMIT and min(slack, T/4)
//   after the acknowledgement; its window fires T later, at most slack late.
// - A token was announced after a line had carried it already, and this announcement started the
//   timer that fired. It explains the line if it came at most min(slack, T/4), and at most 5 ms + 3
//   × the p99 of a flush, after the acknowledgement of the youngest token that had gone out by T
//   before the line. If it must have come later, but the machine may explain that, the line is not
//   judged.
// - Something else may explain the line, which is then not judged: a retry; the budget; a stall at
//   the line before; others that kept the processors away (is_starved says for how long); a span or
//   a slow fault that touches the time from T before the line was written until it was read; or
//   tokens in the line that a struck instance had taken.
//
// With lanes, a collector may write a line for each lane: a short line that follows a short line of
// another lane within the slack is judged by the time of that line.
//
// A full line that takes all announced tokens closes their window, because then no token is left to
// which the first rule applies. Not judged are a process's first short line, a line with a forged
// token, and collectors with an adaptive window; of those that share the work, also those in leased
// mode, or where a bell rings instead of an announcement for each token.
#include "check/inside.h"

static const int64_t early_slack_ns = 2 * NS_PER_MS;
static const int64_t usual_ns = 5 * NS_PER_MS;     // announcement and timer, on a machine at rest
static const int64_t look_to_write_ns = NS_PER_MS; // from a look (the query for waiting tokens) to
                                                   // the writing of its line

struct early {
    const struct check *c;
    bool sharers;       // several collectors share the work
    int64_t *oldest_ns; // owned; per line: the earliest COMMIT of a token that was first
                        // delivered by this line or a later one
    // Windows that may have been opened by tokens that never came out or, with sharers, by any
    // token. Each lasts from the token's COMMIT to the last moment at which the window can fire.
    struct spans fired;
    int64_t *youngest_ns; // owned; per line: when the youngest token of this line and of all before
                          // it was acknowledged
    uint32_t *last_short; // owned; per line: the last short line of the same process before it,
                          // after which no tokens waited; NO_LINE: there was none
};

#define NO_LINE UINT32_MAX

// Fills in last_short.
static void index_short_lines(struct early *t)
{
    const struct ledger *l = t->c->l;
    const struct subject_log *log = l->log;
    // Per process: its last line up to here after which no tokens waited.
    uint32_t *emptied FREED_BY(memory_free) = memory_zeroed(log->process_count, sizeof *emptied);

    t->last_short = memory_zeroed(log->line_count, sizeof *t->last_short);
    for (size_t p = 0; p < log->process_count; p++)
        emptied[p] = NO_LINE;
    for (uint32_t i = 0; i < log->line_count; i++) {
        const struct line_record *line = &log->lines[i];
        t->last_short[i] = emptied[line->process];
        // After a full line, or one that the budget cut, more tokens may wait.
        if (!check_is_full(l, line) && !t->c->spent[i])
            emptied[line->process] = i;
    }
}

// True when the line is to be judged. It must hold the first delivery of a token: a repeated
// delivery is judged as duplicated, and an unplanned one as a phantom. It must hold no forged
// delivery, because such a line may be a part of a longer one.
static bool has_news(const struct ledger *l, const struct line_record *line)
{
    bool news = false;

    for (uint32_t i = 0; i < line->tokens; i++) {
        const struct delivery *d = &l->log->deliveries[line->first_delivery + i];
        if (d->flags & DELIVERY_FORGED)
            return false;
        news = news || check_delivers_first(l, d);
    }
    return news;
}

// True when the line holds a valid delivery of a token that another line delivered first.
static bool holds_a_retry(const struct ledger *l, const struct line_record *line)
{
    for (uint32_t i = 0; i < line->tokens; i++) {
        const struct delivery *d = &l->log->deliveries[line->first_delivery + i];
        if (check_delivers(l, d) && !check_delivers_first(l, d))
            return true;
    }
    return false;
}

// True when a retry may have opened the window in leased mode, because a line after `before`, up to
// the line `index`, holds one. A token that is due for a retry opens a window of its own, but may
// have gone out in a full line before this one, after which other tokens still waited.
static bool opened_by_retry(const struct ledger *l, uint32_t before, uint32_t index)
{
    if (l->scenario->collector.dequeue != DEQUEUE_LEASED)
        return false;
    for (uint32_t i = before + 1; i <= index; i++)
        if (holds_a_retry(l, &l->log->lines[i]))
            return true;
    return false;
}

// Returns the lanes of a line's tokens as bits: 1 for activations, 2 for recoveries.
static unsigned lanes_in(const struct ledger *l, const struct line_record *line)
{
    unsigned lanes = 0;

    for (uint32_t i = 0; i < line->tokens; i++) {
        uint32_t token = l->log->deliveries[line->first_delivery + i].token;
        if (token < l->plan->token_count)
            lanes |= token_kind_recovery(l->plan->kinds[token]) ? 2 : 1;
    }
    return lanes;
}

// Returns the line whose time tells when this line's window fired: this line itself or, with lanes,
// a short line of other lanes just before it. A collector may write each lane in a line of its own,
// and a token of any lane starts the timer for all. Two lines with a lane in common had two
// windows.
static uint32_t fired_with(const struct early *t, uint32_t index)
{
    const struct ledger *l = t->c->l;
    const struct line_record *line = &l->log->lines[index];
    uint32_t before = t->last_short[index];

    if (!t->c->leased.lanes || before == NO_LINE ||
        line->read_ns - l->log->lines[before].read_ns > t->c->r->slack_ns)
        return index;
    return lanes_in(l, line) & lanes_in(l, &l->log->lines[before]) ? index : before;
}

// True when the line holds a token whose COMMIT was sent by until_ns. The token may have been
// announced from then on.
static bool holds_token_announced_before(
    const struct ledger *l, const struct line_record *line, int64_t until_ns)
{
    for (uint32_t i = 0; i < line->tokens; i++) {
        uint32_t token = l->log->deliveries[line->first_delivery + i].token;
        if (token < l->plan->token_count && ledger_txn(l, token)->commit_ns <= until_ns)
            return true;
    }
    return false;
}

// Returns how long an announcement may still take after the COMMIT of its token was acknowledged:
// the slack, but no more than a quarter of the timeout. With a short timeout, the slack alone would
// excuse a line at half of it.
static int64_t travel_ns(const struct check *c)
{
    return clock_min(c->r->slack_ns, c->l->scenario->collector.batch_timeout_ns / 4);
}

// Fills in oldest_ns, youngest_ns and `fired`.
static void index_openers(struct early *t)
{
    const struct check *c = t->c;
    const struct ledger *l = c->l;
    const struct subject_log *log = l->log;

    t->oldest_ns = memory_zeroed(log->line_count + 1, sizeof *t->oldest_ns);
    t->youngest_ns = memory_zeroed(log->line_count, sizeof *t->youngest_ns);
    t->fired.items = memory_zeroed(l->plan->token_count, sizeof *t->fired.items);
    for (size_t i = 0; i <= log->line_count; i++)
        t->oldest_ns[i] = CLOCK_NEVER;
    for (size_t i = 0; i < log->delivery_count; i++) {
        const struct delivery *d = &log->deliveries[i];
        int64_t *youngest = &t->youngest_ns[d->line];
        if (check_delivers(l, d))
            *youngest = clock_max(*youngest, ledger_txn(l, d->token)->ended_ns);
    }
    for (size_t i = 1; i < log->line_count; i++)
        t->youngest_ns[i] = clock_max(t->youngest_ns[i], t->youngest_ns[i - 1]);
    for (uint32_t token = 0; token < l->plan->token_count; token++) {
        const struct txn_record *txn = ledger_txn(l, token);
        const struct ledger_token *seen = &l->tokens[token];
        // A transaction that was rolled back announces nothing.
        if (!txn->commit_ns || (txn->outcome != TXN_COMMITTED && txn->outcome != TXN_UNKNOWN))
            continue;
        if (seen->deliveries) {
            int64_t *oldest = &t->oldest_ns[seen->first_line];
            *oldest = clock_min(*oldest, txn->commit_ns);
        }
        // A token that never came out belongs to no line, but may have opened a window that fired.
        // Where several share the work, each token may have opened one in a process that then did
        // not get the token.
        if (!seen->deliveries || t->sharers)
            t->fired.items[t->fired.count++] = (struct txn_span){
                txn->commit_ns, txn->ended_ns + travel_ns(c) +
                                    l->scenario->collector.batch_timeout_ns + c->r->slack_ns};
    }
    for (size_t i = log->line_count; i-- > 0;)
        t->oldest_ns[i] = clock_min(t->oldest_ns[i], t->oldest_ns[i + 1]);
    spans_index(&t->fired);
}

// A token may be announced after a line has taken it, and this announcement starts a timer, too.
// Returns how long after its token's acknowledgement such an announcement must have come to start
// the timer that fired when this line was written. CLOCK_NEVER: none can have started it, because
// no line was written before it started, or the process's short line `before` has stopped it since.
static int64_t announced_late_ns(const struct early *t, uint32_t before, uint32_t index)
{
    const struct check *c = t->c;
    const struct line_record *lines = c->l->log->lines;
    int64_t timeout_ns = c->l->scenario->collector.batch_timeout_ns;
    int64_t started_ns = lines[index].read_ns - timeout_ns + early_slack_ns;
    // The number of lines that were written when the timer started.
    size_t written = line_after(c->l->log, started_ns);

    while (written < index && check_written_ns(c, &lines[written]) <= started_ns)
        written++;
    if (written == 0 || check_written_ns(c, &lines[before]) > started_ns)
        return CLOCK_NEVER;
    // The youngest token needs the shortest delay, so its announcement explains most.
    return check_written_ns(c, &lines[index]) - timeout_ns - t->youngest_ns[written - 1];
}

// Returns by how much an announcement and the timer that it starts may be late in any run. While a
// session waits for a flush, its announcements wait, too. The probe's flushes also show how busy
// the machine is.
static int64_t usually_late_ns(const struct check *c)
{
    return clock_min(travel_ns(c), usual_ns + 3 * c->flush_ns);
}

// True when a token that was committed by `latest_ns` may have opened the window of line `index`:
// it came out with this line or later, or its window is one of `fired` that lasts until this line.
// `before` is the process's short line before this one, which has closed all open windows.
static bool is_opened(const struct early *t, uint32_t before, uint32_t index, int64_t latest_ns)
{
    const struct check *c = t->c;
    const struct line_record *lines = c->l->log->lines;
    int64_t closed_ns = check_written_ns(c, &lines[before]);
    int64_t window_ns = c->l->scenario->collector.batch_timeout_ns + c->r->slack_ns;
    int64_t fires_by_ns = spans_latest_end(&t->fired, latest_ns);
    // Windows that were open at closed_ns would have fired at most window_ns later.
    bool is_closed = fires_by_ns < closed_ns + window_ns;

    return t->oldest_ns[index] <= latest_ns ||
           (fires_by_ns >= check_written_ns(c, &lines[index]) && !is_closed);
}

// --- causes -------------------------------------------------------------------------

// A bequest is the tokens that an instance had taken when a fault struck it. By own_until_ns some
// instance has got them; it writes them at once, without a window, or at most a batch timeout later
// (from_ns is a timeout before this line). If this line may hold tokens of a bequest, returns its
// cause, or else CAUSE_IS_NONE.
static struct cause of_bequest(
    const struct check *c, const struct line_record *line, int64_t from_ns)
{
    for (size_t i = 0; i < c->timeline.bequest_count; i++) {
        const struct bequest *b = &c->timeline.bequests[i];
        if (b->struck_ns <= line->read_ns && b->own_until_ns >= from_ns &&
            holds_token_announced_before(c->l, line, b->struck_ns + c->r->slack_ns))
            return b->cause;
    }
    return CAUSE_IS_NONE;
}

// True when the line's writer or its backend may have had no processor at a time that explains an
// early line. late_ns is how late the announcement came that may have opened the window.
static bool is_starved(const struct check *c, const struct line_record *line,
    const struct line_record *before, int64_t late_ns)
{
    int64_t emptied_ns = before->read_ns, travel = travel_ns(c);
    int64_t from_ns = line->read_ns - c->l->scenario->collector.batch_timeout_ns;
    int instance = c->l->log->processes[before->process].instance;

    // If the process waited for a processor between its look for the line before and the write of
    // that line, an announcement may have come meanwhile, which opened the window early. The wait
    // may be longer than look_to_write_ns, because the samples that show it lie further apart.
    int64_t wait_before_ns =
        look_to_write_ns - check_awake_ns(c, instance, emptied_ns - look_to_write_ns, emptied_ns);
    if (wait_before_ns > c->r->slack_ns / 2)
        return true;
    // While the process waits for a processor, announcements wait, too. So its look for this line
    // may have shown tokens long before it read their announcements. It must then assume that the
    // tokens had waited since the look before, and writes them earlier than their timeout.
    // With no time and no stall to count, check_left leaves the wait, as a negative number.
    int64_t waited_ns = -check_left(c, line->process, from_ns, line->read_ns, 0, 0).ns;
    if (waited_ns > travel)
        return true;
    // Without stalls and waits for a processor, the announcement would have come in the usual time.
    return late_ns <= travel + c->r->slack_ns &&
           check_left(c, line->process, from_ns, line->read_ns, late_ns, 1).ns <=
               usually_late_ns(c);
}

// Returns what held up the collector or the harness, and so may explain an early line; CAUSE_NONE:
// nothing did.
static struct cause held_up_by(const struct check *c, const struct line_record *line,
    const struct line_record *before, int64_t late_ns)
{
    int64_t from_ns = check_written_ns(c, line) - c->l->scenario->collector.batch_timeout_ns;
    int instance = c->l->log->processes[line->process].instance;
    // Tokens that wait at the end of a span go out at once, and under a slow fault nobody knows
    // when an announcement arrives.
    struct cause cause = timeline_cause(&c->timeline, instance, from_ns, line->read_ns);

    if (cause.kind == CAUSE_NONE)
        cause = of_bequest(c, line, from_ns);
    // If the line before was read in a stall, it was written earlier than it seems.
    cause =
        check_kept_by(c, NO_PROCESS, before->read_ns - look_to_write_ns, before->read_ns, 0, cause);
    return cause.kind == CAUSE_NONE && is_starved(c, line, before, late_ns)
               ? (struct cause){CAUSE_PROCESSORS, line->process}
               : cause;
}

// Returns what may explain an early line; CAUSE_NONE: nothing does. `before` is the last line after
// which no tokens waited; late_ns is how late the announcement came that may have opened the
// window.
static struct cause why_early(
    const struct check *c, uint32_t before, uint32_t index, int64_t late_ns)
{
    const struct line_record *lines = c->l->log->lines;

    // With the budget spent, a collector may write what it can pay for at once.
    if (c->spent[index])
        return (struct cause){CAUSE_BUDGET, index};
    if (opened_by_retry(c->l, before, index))
        return (struct cause){CAUSE_BATCH, index};
    return held_up_by(c, &lines[index], &lines[before], late_ns);
}

// Judges one line. With lanes, the line with which its window fired (`first`) decides.
static void judge_line_early(const struct early *t, uint32_t index)
{
    const struct check *c = t->c;
    const struct ledger *l = c->l;
    const struct line_record *line = &l->log->lines[index];
    int64_t timeout_ns = l->scenario->collector.batch_timeout_ns;

    if (check_is_full(l, line) || !has_news(l, line))
        return;
    uint32_t first = fired_with(t, index), before = t->last_short[first];
    // A window that fired with this line was open by latest_ns, a timeout before the line was read.
    int64_t latest_ns = l->log->lines[first].read_ns - timeout_ns + early_slack_ns;
    // The process's first short line is not judged: its tokens may have waited since the start.
    if (before == NO_LINE)
        return;
    int64_t late_ns = announced_late_ns(t, before, first);
    // The window was opened by a token of the line, by one that still waited or never came out, or
    // by an announcement that was no later than announcements are in any run.
    bool in_time = holds_token_announced_before(l, &l->log->lines[first], latest_ns) ||
                   is_opened(t, before, first, latest_ns) || late_ns <= usually_late_ns(c);
    struct cause cause = in_time ? CAUSE_IS_NONE : why_early(c, before, first, late_ns);
    judged_add(c->r, METRIC_EARLY, 1, cause);
    if (in_time || cause.kind != CAUSE_NONE)
        return;
    finding_add(c->r, METRIC_EARLY,
        "process %d wrote %u of %d tokens at %.3f s, before the first had waited %.0f ms",
        (int)l->log->processes[line->process].pid, line->tokens, l->scenario->collector.batch_limit,
        ledger_seconds(l, line->read_ns), (double)timeout_ns / 1e6);
    finding_add_faults(c->r, METRIC_EARLY, l, line->read_ns);
}

// True when the lines of collectors that share the work can be judged. Each announcement starts the
// timers of all of them, even of those that do not get its token, so announcements explain all
// their lines. With a bell this is not so, because a look without an announcement may explain a
// line. In leased mode the retry of a token that another collector takes may explain one.
static bool can_judge_sharers(const struct check *c)
{
    return c->l->scenario->postgres.announce == ANNOUNCE_EACH &&
           c->l->scenario->collector.dequeue == DEQUEUE_SHARED;
}

void check_early(const struct check *c)
{
    const struct scenario_collector *s = &c->l->scenario->collector;
    struct early t = {.c = c, .sharers = s->instances > 1 && scenario_shares(c->l->scenario)};

    // A collector with an adaptive window may fire before the timeout.
    if (s->adaptive_from_ns > 0)
        return;
    if (t.sharers && !can_judge_sharers(c))
        return;
    index_short_lines(&t);
    index_openers(&t);
    for (uint32_t i = 0; i < c->l->log->line_count; i++)
        judge_line_early(&t, i);
    free(t.fired.items);
    free(t.oldest_ns);
    free(t.youngest_ns);
    free(t.last_short);
}
