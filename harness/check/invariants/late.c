// Judges late: a token waited longer than the timeout in fault-free time. Below, T is the batch
// timeout and L the batch limit.
//
// The clock of a token begins at its acknowledgement (ack) or, for a subject that waits for
// writers, at the end of the last transaction that was sent before ack and was still open then. The
// token is late when the free time from then until it was read is more than T + slack. When that
// much free time has passed, the token is due.
// - Full lines: a token is not late when full lines followed each other from the time at which it
//   was due until it was written. Two lines of such a chain may be slack of free time apart, or
//   L ÷ capacity if that is more. A torn line may have been full. Where several share the work,
//   a short line during a fault does not end the chain. A process that gets no processor does not
//   end it, either.
// - Budget: a short line does not end the chain where the budget is spent. The next line may then
//   be T and the time of one token away.
// - Overtaken: a line with only tokens that were sent after this token was due has overtaken it.
//   Then full lines explain nothing, except with lanes, where one lane may overtake another.
// - A full batch waits: a subject that promises `fills` writes a line at once when L tokens of a
//   lane wait. A batch is late when it waited in free time for more than slack + 3 × the p99 of a
//   flush, or L ÷ capacity (at most 5,000/s) if that is more. This is judged where T is at least
//   five times that, tokens are announced one by one, one collector works at a time, and there is
//   no budget.
// - Stalls: a stall excuses a token that is late by no more than twice the stall's length.
// - Slack: `auto` is 50 ms for scheduling + 5 × p99 of `SELECT 1`, because a batch costs a few
//   queries; at most 500 ms. The queries run beside the load; those during a fault do not count.
#include "check/inside.h"

#include "check/bounds.h"

// --- one token --------------------------------------------------------------------

int64_t check_waits_since_ns(const struct check *c, uint32_t token)
{
    int64_t ack_ns = ledger_txn(c->l, token)->ended_ns;

    return clock_max(ack_ns, spans_latest_end(&c->txns, ack_ns));
}

// Returns the cause that excuses a late token; CAUSE_NONE: nothing does. The cause must explain all
// the fault-free time by which the token was late. If a chain of full lines led to the token, only
// the time before the chain's beginning needs an excuse, because the lines of a chain follow each
// other as they should. A stall may delay two steps of a token's way, so it explains twice its
// length.
static struct cause why_late(const struct check *c, uint32_t line, int64_t start_ns, int64_t due_ns)
{
    uint32_t process = c->l->log->lines[line].process;
    int instance = c->l->log->processes[process].instance;
    int64_t read_ns = c->l->log->lines[line].read_ns;
    // Where a line has overtaken the token, a chain explains nothing.
    int64_t until_ns = check_in_turn(c, line, due_ns) ? c->busy_since_ns[line] : read_ns;
    int64_t beyond_ns = timeline_free(&c->timeline, instance, due_ns, until_ns).ns;

    return check_explained_by(c, process, start_ns, until_ns, beyond_ns);
}

struct lateness {
    bool found;         // the token is late, and no cause excuses it
    struct cause cause; // what excuses the token; CAUSE_NONE: nothing, or it needs no excuse
    int64_t due_ns;     // when the token was due
};

// Decides whether a token whose clock starts at start_ns, and which first came in line `index`, is
// late. It is not late when it came in time, when it would have come in time without the faults, or
// when a cause excuses it.
static struct lateness lateness_since(const struct check *c, uint32_t index, int64_t start_ns)
{
    const struct ledger *l = c->l;
    const struct line_record *line = &l->log->lines[index];
    int instance = l->log->processes[line->process].instance;
    int64_t timeout_ns = l->scenario->collector.batch_timeout_ns;
    struct lateness in_time = {.due_ns = start_ns + timeout_ns + c->r->slack_ns};

    // Nearly all tokens end here, which saves a search of the timeline.
    if (line->read_ns <= in_time.due_ns || check_had_to_wait(c, index, in_time.due_ns))
        return in_time;
    struct free_time free = timeline_free(&c->timeline, instance, start_ns, line->read_ns);
    struct free_time slack = check_slack(c, start_ns, line->read_ns);
    int64_t due_ns = timeline_due_ns(&c->timeline, instance, start_ns, timeout_ns + slack.ns);
    if (line->read_ns <= due_ns || check_had_to_wait(c, index, due_ns))
        return (struct lateness){
            .cause = free.cause.kind != CAUSE_NONE ? free.cause : slack.cause, .due_ns = due_ns};
    struct cause cause = why_late(c, index, start_ns, due_ns);
    return (struct lateness){cause.kind == CAUSE_NONE, cause, due_ns};
}

// True when a token that was due at due_ns rightly still waited when this line, which does not hold
// it, was read.
static bool waited_rightly(const struct check *c, size_t line, int64_t start_ns, int64_t due_ns)
{
    return check_had_to_wait(c, (uint32_t)line, due_ns) ||
           (check_in_turn(c, (uint32_t)line, due_ns) &&
               why_late(c, (uint32_t)line, start_ns, due_ns).kind != CAUSE_NONE);
}

// True when a token that was due at due_ns was not yet late at at_ns, when a fault struck. Either
// it was due later, or it rightly waited while a line just before or after at_ns was read.
static bool is_in_time_at(const struct check *c, int64_t start_ns, int64_t due_ns, int64_t at_ns)
{
    const struct subject_log *log = c->l->log;
    uint32_t next = (uint32_t)line_after(log, at_ns);

    if (at_ns <= due_ns)
        return true;
    // The fault itself may have ended the chain of full lines, so the last line before it counts as
    // well.
    return (next < log->line_count && waited_rightly(c, next, start_ns, due_ns)) ||
           (next > 0 && at_ns - log->lines[next - 1].read_ns <= c->r->slack_ns &&
               waited_rightly(c, next - 1, start_ns, due_ns));
}

// Returns when a token of this line is due if it is one of this bequest's (the tokens that an
// instance had taken when a fault struck it). Its clock starts when the instance that wrote the
// line must have had the token; the struck instance itself may get it back later than others get
// it.
static int64_t due_of_bequest_ns(const struct check *c, const struct bequest *b, uint32_t index)
{
    const struct ledger *l = c->l;
    const struct line_record *line = &l->log->lines[index];
    int instance = l->log->processes[line->process].instance;
    bool own = b->instance == EVERY || b->instance == instance;
    int64_t start_ns = own ? b->own_until_ns : b->until_ns;
    int64_t slack_ns = check_slack(c, b->struck_ns, line->read_ns).ns;

    return timeline_due_ns(
        &c->timeline, instance, start_ns, l->scenario->collector.batch_timeout_ns + slack_ns);
}

// True when the bequest explains that its tokens in the line `index` came so late.
static bool bequest_explains(const struct check *c, const struct bequest *b, uint32_t index)
{
    int64_t due_ns = due_of_bequest_ns(c, b, index);

    return c->l->log->lines[index].read_ns <= due_ns || check_had_to_wait(c, index, due_ns) ||
           why_late(c, index, b->struck_ns, due_ns).kind != CAUSE_NONE;
}

// Returns a later bequest that explains why the line `index` came so late: when the grace after the
// first strike had passed, another instance took the token over, and a fault struck that instance
// before it had written the token. NULL: none explains it.
static struct bequest *second_bequest(
    const struct check *c, const struct bequest *first, uint32_t index)
{
    const struct scenario *s = c->l->scenario;
    int64_t taken_ns = first->struck_ns + bounds_grace_ns(s);
    int64_t timeout_ns = s->collector.batch_timeout_ns;
    // Slow faults in about that time give the instance longer to write the token.
    int64_t about_ns = taken_ns + timeout_ns + c->r->slack_ns + NS_PER_S;
    int64_t until_ns = taken_ns + timeout_ns + check_slack(c, taken_ns, about_ns).ns;
    struct bequest *b = NULL;

    for (const struct bequest *after = first;
         (b = timeline_next_bequest(&c->timeline, after, taken_ns, until_ns)); after = b)
        if (bequest_explains(c, b, index))
            return b;
    return NULL;
}

// Decides whether a token is late. Before the token was late, a fault may have hit the collector
// that had taken it. Then others had to write it within a bounded time. Each token may take this
// time once, or twice where the instance that took it over may have been struck, too.
static struct lateness lateness_of(const struct check *c, uint32_t token, int64_t start_ns)
{
    uint32_t index = c->l->tokens[token].first_line;
    int64_t read_ns = c->l->log->lines[index].read_ns;
    // A strike's time is noted before its blow, so the struck instance may still have taken a token
    // whose COMMIT was sent up to the slack later.
    int64_t from_ns = ledger_txn(c->l, token)->commit_ns - c->r->slack_ns;
    struct lateness late = lateness_since(c, index, start_ns);
    struct bequest *b = NULL;

    // A bequest explains the token only if its strike came before the token was late.
    while (late.found && (b = timeline_next_bequest(&c->timeline, b, from_ns, read_ns)) &&
           is_in_time_at(c, start_ns, late.due_ns, b->struck_ns)) {
        // A strike may excuse only so many tokens (tokens_left), so that a collector that forgets
        // its claims is convicted of the rest.
        bool alone = bequest_explains(c, b, index);
        struct bequest *second = alone ? NULL : second_bequest(c, b, index);
        if (!alone && !second)
            continue;
        b->tokens_left--;
        if (second)
            second->tokens_left--;
        return (struct lateness){
            .cause = b->cause, .due_ns = due_of_bequest_ns(c, second ? second : b, index)};
    }
    return late;
}

// Judges one token. A token that was not committed or never came out is not judged here.
static void check_token(const struct check *c, uint32_t token)
{
    struct result *r = c->r;
    const struct ledger *l = c->l;
    const struct txn_record *txn = ledger_txn(l, token);
    int64_t read_ns = ledger_read_ns(l, token);
    char login[NAMES_MAX];

    // Nobody promises when a token that changed while it waited goes out.
    if (txn->outcome != TXN_COMMITTED || read_ns == CLOCK_NEVER ||
        ledger_changed_ns(l, token) < read_ns)
        return;
    // The collector's start is not timed: the clock of earlier tokens starts with the load.
    int64_t start_ns = clock_max(check_waits_since_ns(c, token), l->start_ns);
    struct lateness late = lateness_of(c, token, start_ns);
    judged_add(r, METRIC_LATE, 1, late.cause);
    if (!late.found)
        return;
    // On a busy machine the verdict compares the largest lateness with the lag of the load.
    if (read_ns - late.due_ns > r->latest_ns)
        r->latest_ns = read_ns - late.due_ns;
    ledger_name(l, token, login);
    finding_add(r, METRIC_LATE,
        "%s was committed at %.3f s, could go from %.3f s on, and was read %.0f ms later; allowed: "
        "%.0f ms",
        login, ledger_seconds(l, txn->ended_ns), ledger_seconds(l, start_ns),
        (double)(read_ns - start_ns) / 1e6, (double)(late.due_ns - start_ns) / 1e6);
    finding_add_faults(r, METRIC_LATE, l, txn->ended_ns);
}

void check_late(const struct check *c)
{
    for (uint32_t token = 0; token < c->l->plan->token_count; token++)
        check_token(c, token);
}
