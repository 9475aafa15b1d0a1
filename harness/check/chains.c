// Finds since when full lines have followed each other: the subject works as fast as it can. Where
// the budget is spent, the subject can write only shorter lines.
#include "check/inside.h"

#include <stdlib.h>

#include "base/clock.h"
#include "check/lookup.h"

// Returns the longest gap between lines of a collector that works as fast as it can. With a budget,
// it waits for the next token.
static int64_t chain_ns(const struct check *c, int64_t slack_ns)
{
    const struct scenario_collector *s = &c->l->scenario->collector;
    int64_t line_ns = s->capacity > 0 ? (int64_t)((double)s->batch_limit / s->capacity * 1e9) : 0;
    int64_t token_ns = c->spent ? s->batch_timeout_ns + (int64_t)(NS_PER_S / c->budget_per_s) : 0;

    line_ns = token_ns > line_ns ? token_ns : line_ns;
    return slack_ns + clock_max(line_ns - c->r->slack_ns, 0);
}

static bool any_away(const struct check *c, int64_t at_ns)
{
    return timeline_span(&c->timeline, ANYBODY, at_ns, at_ns);
}

// True when more tokens may wait behind this line. A short line says that none do, unless the
// budget was spent. And while several collectors share the work, a fault keeps the tokens that one
// of them had taken, so a short line of the others says nothing. The line may have lain unread
// since then.
static bool is_link(const struct check *c, const struct line_record *line)
{
    const struct scenario *s = c->l->scenario;
    bool share = s->collector.instances > 1 && scenario_shares(s);

    return check_is_full(c->l, line) || (c->spent && c->spent[line - c->l->log->lines]) ||
           (share && (any_away(c, line->read_ns) || any_away(c, check_written_ns(c, line))));
}

// True when the chain of full lines goes on until the next line. A fault, a stall or a starved
// process in the gap does not end the chain. The tokens that an instance had taken when a fault hit
// it wait for its return. So free time depends on next_writer, the instance that writes the next
// line; EVERY: no such line.
static bool lasts(
    const struct check *c, const struct line_record *line, int64_t until_ns, int next_writer)
{
    int64_t apart_ns = chain_ns(c, check_slack(c, line->read_ns, until_ns).ns);

    if (!is_link(c, line))
        return false;
    // Nearly all gaps are short, and the spans need not be asked.
    if (until_ns - line->read_ns <= apart_ns)
        return true;
    int64_t free_ns = timeline_free(&c->timeline, next_writer, line->read_ns, until_ns).ns;
    return check_left(c, line->process, line->read_ns, until_ns, free_ns, 1).felt_ns <= apart_ns;
}

// Returns when the oldest token of a line was sent; 0 when it names none of the plan.
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

// Returns since when full lines had followed each other at the end of the drain; CLOCK_NEVER when
// the drain did not end in such a chain.
static int64_t draining_since_ns(const struct check *c)
{
    const struct ledger *l = c->l;
    size_t count = l->log->line_count;

    while (count > 0 && l->log->lines[count - 1].read_ns > l->drain_end_ns)
        count--;
    return count > 0 && lasts(c, &l->log->lines[count - 1], l->drain_end_ns, EVERY)
               ? c->busy_since[count - 1]
               : CLOCK_NEVER;
}

// Returns since when full lines had followed each other at a line. One that lay unread was written
// before some of the lines that were read before it, perhaps as soon as its pipe was last empty.
static int64_t chained_since_ns(const struct check *c, uint32_t index)
{
    const struct line_record *lines = c->l->log->lines, *line = &lines[index];
    int writer = c->l->log->processes[line->process].instance;
    uint32_t before = index;

    if (index > 0 && lasts(c, line - 1, line->read_ns, writer))
        return c->busy_since[index - 1];
    int64_t written_ns = check_written_ns(c, line);
    while (before > 0 && lines[before - 1].read_ns > written_ns)
        before--;
    return before > 0 && before < index && lasts(c, &lines[before - 1], written_ns, writer)
               ? c->busy_since[before - 1]
               : line->read_ns;
}

static void find_chains(struct check *c)
{
    const struct subject_log *log = c->l->log;
    int64_t overtaken_ns = 0;

    for (uint32_t i = 0; i < log->line_count; i++) {
        const struct line_record *line = &log->lines[i];
        int64_t oldest = oldest_ns(c->l, line);
        c->busy_since[i] = chained_since_ns(c, i);
        c->overtaken_ns[i] = overtaken_ns;
        overtaken_ns = oldest > overtaken_ns ? oldest : overtaken_ns;
    }
    c->draining_since_ns = draining_since_ns(c);
}

bool check_chains(struct check *c, struct err *e)
{
    size_t count = c->l->log->line_count;

    c->busy_since = calloc(count + 1, sizeof *c->busy_since);
    c->overtaken_ns = calloc(count + 1, sizeof *c->overtaken_ns);
    if (!c->busy_since || !c->overtaken_ns)
        return err_memory(e);
    find_chains(c);
    return true;
}

void check_chains_fini(struct check *c)
{
    free(c->busy_since);
    free(c->overtaken_ns);
}

static bool has_lanes(const struct scenario *s)
{
    struct leased m;

    leased_read(&m, s);
    return m.lanes;
}

// With lanes, one lane may overtake another, so overtaken_ns says nothing.
bool check_had_to_wait(const struct check *c, uint32_t line, int64_t due_ns)
{
    return c->busy_since[line] <= due_ns &&
           (c->overtaken_ns[line] <= due_ns || has_lanes(c->l->scenario));
}
