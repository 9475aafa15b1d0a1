// Finds since when full lines have followed each other: the subject works as fast as it can. Where
// the budget is spent, the subject can write only shorter lines.
#include "check/inside.h"

#include <stdlib.h>

#include "base/clock.h"
#include "check/lookup.h"

// With this share of its budget spent, a collector has too little left for more tokens.
#define BUDGET_SPENT 0.8

bool check_is_budget_spent(double per_s, uint64_t tokens, int64_t ns)
{
    return per_s > 0 && tokens > 0 &&
           (double)tokens >= BUDGET_SPENT * per_s * (double)ns / NS_PER_S;
}

// The state by which chains are found.
struct chains {
    struct check *c;
    double budget_per_s; // tokens per second; 0: no budget
    bool *spent; // owned; per line: the budget was spent in the time before or behind it; NULL: no
                 // budget
};

// Returns the time over which the tokens of lines are compared with the budget: one second or, with
// a small budget, the time of ten tokens.
static int64_t budget_window_ns(const struct chains *h)
{
    int64_t ten_ns = (int64_t)(10e9 / h->budget_per_s);

    return ten_ns > NS_PER_S ? ten_ns : NS_PER_S;
}

// Fills in `spent`. Two windows move over the lines: one ends at a line, the other begins there.
static void find_spent(const struct chains *h)
{
    const struct subject_log *log = h->c->l->log;
    int64_t window_ns = budget_window_ns(h);
    uint64_t before = 0, behind = 0; // tokens in the windows, both with those of line i
    uint32_t first = 0, next = 0;    // first line of the first window, first line behind the second

    for (uint32_t i = 0; i < log->line_count; i++) {
        int64_t at_ns = log->lines[i].read_ns;
        before += log->lines[i].tokens;
        for (; log->lines[first].read_ns < at_ns - window_ns; first++)
            before -= log->lines[first].tokens;
        for (; next < log->line_count && log->lines[next].read_ns <= at_ns + window_ns; next++)
            behind += log->lines[next].tokens;
        h->spent[i] = check_is_budget_spent(h->budget_per_s, before, window_ns) ||
                      check_is_budget_spent(h->budget_per_s, behind, window_ns);
        behind -= log->lines[i].tokens;
    }
}

static bool chains_make(struct chains *h, struct check *c)
{
    struct leased m;

    leased_read(&m, c->l->scenario);
    *h = (struct chains){.c = c, .budget_per_s = m.budget_per_s};
    if (m.budget_per_s <= 0)
        return true;
    h->spent = calloc(c->l->log->line_count + 1, sizeof *h->spent);
    if (h->spent)
        find_spent(h);
    return h->spent;
}

static void chains_fini(struct chains *h)
{
    free(h->spent);
}

// Returns the longest gap between lines of a collector that works as fast as it can. With a budget,
// it waits for the next token.
static int64_t chain_ns(const struct chains *h)
{
    const struct scenario_collector *s = &h->c->l->scenario->collector;
    int64_t line_ns = s->capacity > 0 ? (int64_t)((double)s->batch_limit / s->capacity * 1e9) : 0;
    int64_t token_ns = h->spent ? s->batch_timeout_ns + (int64_t)(NS_PER_S / h->budget_per_s) : 0;

    line_ns = token_ns > line_ns ? token_ns : line_ns;
    return line_ns > h->c->r->slack_ns ? line_ns : h->c->r->slack_ns;
}

// True when more tokens may wait behind this line. A short line says that none do, unless the
// budget was spent. And while several collectors share the work, a fault keeps the tokens that one
// of them had taken, so a short line of the others says nothing.
static bool is_link(const struct chains *h, const struct line_record *line)
{
    const struct check *c = h->c;
    const struct scenario *s = c->l->scenario;
    bool share = s->collector.instances > 1 && check_shares(s);

    return check_is_full(c->l, line) || (h->spent && h->spent[line - c->l->log->lines]) ||
           (share && outages_last(&c->outages, line->read_ns));
}

// Returns how much of a gap the machine took: stalls, and what starved the process.
static int64_t denied_ns(const struct check *c, const struct line_record *line, int64_t until_ns)
{
    int64_t starved_ns = check_denied_ns(c->l, line->process, line->read_ns, until_ns);

    return stall_list_ns(&c->stalls, line->read_ns, until_ns) +
           (starved_ns > c->r->slack_ns / 2 ? starved_ns : 0);
}

// True when the chain of full lines goes on until the next line. A fault, a stall or a starved
// process in the gap does not end the chain. Each fault also allows one more gap, because it may
// destroy the work on the next line. The tokens that an instance had taken when a fault hit it wait
// for its return. So the end of an outage depends on next_writer, the instance that writes the next
// line; -1: no such line.
static bool lasts(
    const struct chains *h, const struct line_record *line, int64_t until_ns, int next_writer)
{
    const struct check *c = h->c;
    int64_t apart_ns = chain_ns(h);

    if (!is_link(h, line))
        return false;
    if (until_ns - line->read_ns <= apart_ns)
        return true;
    struct fault_free free = outages_free(&c->outages, next_writer, line->read_ns, until_ns);
    return free.ns - denied_ns(c, line, until_ns) <= apart_ns * (1 + (int64_t)free.faults);
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
static int64_t draining_since_ns(const struct chains *h)
{
    const struct ledger *l = h->c->l;
    size_t count = l->log->line_count;

    while (count > 0 && l->log->lines[count - 1].read_ns > l->drain_end_ns)
        count--;
    return count > 0 && lasts(h, &l->log->lines[count - 1], l->drain_end_ns, -1)
               ? h->c->busy_since[count - 1]
               : CLOCK_NEVER;
}

static void find_chains(const struct chains *h)
{
    struct check *c = h->c;
    const struct subject_log *log = c->l->log;
    int64_t overtaken_ns = 0;

    for (uint32_t i = 0; i < log->line_count; i++) {
        const struct line_record *line = &log->lines[i];
        int writer = log->processes[line->process].instance;
        bool chained = i > 0 && lasts(h, line - 1, line->read_ns, writer);
        int64_t oldest = oldest_ns(c->l, line);
        c->busy_since[i] = chained ? c->busy_since[i - 1] : line->read_ns;
        c->overtaken_ns[i] = overtaken_ns;
        overtaken_ns = oldest > overtaken_ns ? oldest : overtaken_ns;
    }
    c->draining_since_ns = draining_since_ns(h);
}

bool check_chains(struct check *c, struct err *e)
{
    size_t count = c->l->log->line_count;
    struct chains h;

    c->busy_since = calloc(count + 1, sizeof *c->busy_since);
    c->overtaken_ns = calloc(count + 1, sizeof *c->overtaken_ns);
    if (!c->busy_since || !c->overtaken_ns || !chains_make(&h, c))
        return err_memory(e);
    find_chains(&h);
    chains_fini(&h);
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
