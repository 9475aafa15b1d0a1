// Finds the chains of full lines that follow each other, in which the subject works as fast as it
// can. Where the budget is spent, shorter lines continue a chain, because the subject cannot write
// full ones.
#include "check/inside.h"

// Returns how far apart two lines of a chain may be: the run's slack or the time that one line
// takes, whichever is longer, and what slow faults add. slack_ns is the run's slack and that
// addition. `collector.capacity` tells how long a full line takes. With a budget, a line takes at
// least the batch timeout and the time in which the budget grows by a token.
static int64_t chain_ns(const struct check *c, int64_t slack_ns)
{
    const struct scenario_collector *s = &c->l->scenario->collector;
    int64_t line_ns = s->capacity > 0 ? (int64_t)((double)s->batch_limit / s->capacity * 1e9) : 0;
    double per_s = c->leased.budget_per_s;
    int64_t token_ns = per_s > 0 ? s->batch_timeout_ns + (int64_t)(NS_PER_S / per_s) : 0;

    line_ns = clock_max(line_ns, token_ns);
    return slack_ns + clock_max(line_ns - c->r->slack_ns, 0);
}

// True when at_ns lies in a fault on any instance, or in the return from it.
static bool any_away(const struct check *c, int64_t at_ns)
{
    return timeline_span(&c->timeline, ANY_INSTANCE, at_ns, at_ns);
}

// True when more tokens may wait after this line, so that it may continue a chain. A short line
// shows that none waits, unless the budget was spent. Nor does it show this where several
// collectors share the work and a fault kept one of them away when the line was read or written:
// the tokens that the struck collector had taken still wait.
static bool is_link(const struct check *c, const struct line_record *line)
{
    const struct scenario *s = c->l->scenario;
    bool share = s->collector.instances > 1 && scenario_shares(s);

    return check_is_full(c->l, line) || c->spent[line - c->l->log->lines] ||
           (share && (any_away(c, line->read_ns) || any_away(c, check_written_ns(c, line))));
}

// True when the chain of full lines goes on from this line to the next one, which comes at
// until_ns. A fault, a stall or a starved process in the gap does not end the chain. Where the
// reader or the sender of an instance is away, only its own lines cannot come. So next_writer, the
// instance that writes the next line, decides which time is free. EVERY: there is no next line.
static bool chain_lasts(
    const struct check *c, const struct line_record *line, int64_t until_ns, int next_writer)
{
    int64_t apart_ns = chain_ns(c, check_slack(c, line->read_ns, until_ns).ns);

    if (!is_link(c, line))
        return false;
    // Nearly all gaps are short, so this test saves a search of the timeline.
    if (until_ns - line->read_ns <= apart_ns)
        return true;
    int64_t free_ns = timeline_free(&c->timeline, next_writer, line->read_ns, until_ns).ns;
    // A gap between two lines is one step, so a stall lengthens it once.
    return check_left(c, line->process, line->read_ns, until_ns, free_ns, 1).felt_ns <= apart_ns;
}

// Returns when the insert of a line's oldest token was sent; 0, which overtakes nothing, when the
// line has no token of the plan.
static int64_t oldest_ns(const struct ledger *l, const struct line_record *line)
{
    int64_t oldest = CLOCK_NEVER;

    for (uint32_t i = 0; i < line->tokens; i++) {
        uint32_t token = l->log->deliveries[line->first_delivery + i].token;
        if (token < l->plan->token_count)
            oldest = clock_min(oldest, ledger_txn(l, token)->sent_ns);
    }
    return oldest == CLOCK_NEVER ? 0 : oldest;
}

// Returns when the chain of full lines that still lasted at the end of the drain began;
// CLOCK_NEVER: none lasted then.
static int64_t draining_since_ns(const struct check *c)
{
    const struct ledger *l = c->l;
    size_t count = l->log->line_count;

    while (count > 0 && l->log->lines[count - 1].read_ns > l->drain_end_ns)
        count--;
    return count > 0 && chain_lasts(c, &l->log->lines[count - 1], l->drain_end_ns, EVERY)
               ? c->busy_since_ns[count - 1]
               : CLOCK_NEVER;
}

// Returns when the chain of full lines that leads to a line began; without a chain, when the line
// itself was read. A line that lay unread may have been written before lines that were read
// earlier. So a chain that lasted until the earliest time at which this line can have been written
// counts as well.
static int64_t chained_since_ns(const struct check *c, uint32_t index)
{
    const struct line_record *lines = c->l->log->lines, *line = &lines[index];
    int writer = c->l->log->processes[line->process].instance;
    uint32_t before = index;

    if (index > 0 && chain_lasts(c, line - 1, line->read_ns, writer))
        return c->busy_since_ns[index - 1];
    int64_t written_ns = check_written_ns(c, line);
    while (before > 0 && lines[before - 1].read_ns > written_ns)
        before--;
    // If no line was read in between, the first test has decided already.
    return before > 0 && before < index && chain_lasts(c, &lines[before - 1], written_ns, writer)
               ? c->busy_since_ns[before - 1]
               : line->read_ns;
}

void check_chains(struct check *c)
{
    const struct subject_log *log = c->l->log;
    int64_t overtaken_ns = 0;

    c->busy_since_ns = memory_zeroed(log->line_count, sizeof *c->busy_since_ns);
    c->overtaken_ns = memory_zeroed(log->line_count, sizeof *c->overtaken_ns);
    for (uint32_t i = 0; i < log->line_count; i++) {
        const struct line_record *line = &log->lines[i];
        int64_t oldest = oldest_ns(c->l, line);
        c->busy_since_ns[i] = chained_since_ns(c, i);
        c->overtaken_ns[i] = overtaken_ns;
        overtaken_ns = clock_max(overtaken_ns, oldest);
    }
    c->draining_since_ns = draining_since_ns(c);
}

// With lanes, one lane may overtake another, so overtaken_ns counts for nothing.
bool check_in_turn(const struct check *c, uint32_t line, int64_t due_ns)
{
    return c->overtaken_ns[line] <= due_ns || c->leased.lanes;
}

bool check_had_to_wait(const struct check *c, uint32_t line, int64_t due_ns)
{
    return c->busy_since_ns[line] <= due_ns && check_in_turn(c, line, due_ns);
}
