// over_budget, and the time in which nothing is left of the send budget.
#include "check/inside.h"

#include <stdlib.h>

#include "base/clock.h"

// The token bucket, recomputed from the lines.
struct bucket {
    double per_s, burst, left;
    int64_t at_ns;
};

static void fill(struct bucket *b, int64_t at_ns)
{
    if (at_ns > b->at_ns)
        b->left += (double)(at_ns - b->at_ns) / 1e9 * b->per_s;
    b->left = b->left > b->burst ? b->burst : b->left;
    b->at_ns = at_ns;
}

static void spend(struct bucket *b, int64_t at_ns, double tokens)
{
    fill(b, at_ns);
    b->left = b->left > tokens ? b->left - tokens : 0;
}

// The bucket runs dry when too many tokens came in any window since it last was full. The fullest
// window ends at a line, so looking at the lines is enough. Each line at which it is overdrawn is a
// case. The reader sees a line a little after the collector paid for it.
static void judge_line(const struct check *c, const struct line_record *line, struct bucket *most)
{
    double late = (double)c->r->slack_ns / 1e9 * most->per_s;

    judged_add(c->r, METRIC_OVER_BUDGET, line->tokens, CAUSE_IS_NONE);
    if (most->left < -1 - late)
        finding_add(c->r, METRIC_OVER_BUDGET, "at %.3f s: %.1f more than %.4g/s allows",
            ledger_seconds(c->l, line->read_ns), -most->left, most->per_s);
}

// Returns until when the next token has to wait for the budget; 0: it need not.
static int64_t spent_until_ns(const struct check *c, const struct bucket *least)
{
    double late = (double)c->r->slack_ns / 1e9 * least->per_s;

    if (least->left >= 1 + late)
        return 0;
    return least->left >= 1 ? least->at_ns
                            : least->at_ns + (int64_t)((1 - least->left) / least->per_s * 1e9);
}

// Each fault until then may destroy a line of each collector that it had paid for. `line` is the
// one before.
static void lose_paid(
    const struct check *c, struct bucket *least, size_t line, size_t *outage, int64_t until_ns)
{
    const struct scenario_collector *s = &c->l->scenario->collector;

    for (; *outage < c->outages.count && c->outages.items[*outage].from_ns <= until_ns; ++*outage) {
        spend(least, c->outages.items[*outage].from_ns, (double)s->batch_limit * s->instances);
        if (line > 0)
            c->spent_until_ns[line - 1] = spent_until_ns(c, least);
    }
}

bool check_budget(struct check *c, struct err *e)
{
    const struct subject_log *log = c->l->log;
    struct leased m;
    size_t outage = 0;

    leased_read(&m, c->l->scenario);
    if (m.budget_per_s <= 0)
        return true;
    c->spent_until_ns = calloc(log->line_count + 1, sizeof *c->spent_until_ns);
    if (!c->spent_until_ns)
        return err_memory(e);
    // What is left at most convicts, what is left at least excuses.
    struct bucket most = {.per_s = m.budget_per_s, .burst = m.burst, .left = m.burst};
    struct bucket least = most;
    for (size_t i = 0; i < log->line_count; i++) {
        const struct line_record *line = &log->lines[i];
        fill(&most, line->read_ns);
        most.left -= line->tokens;
        judge_line(c, line, &most);
        lose_paid(c, &least, i, &outage, line->read_ns);
        spend(&least, line->read_ns, line->tokens);
        c->spent_until_ns[i] = spent_until_ns(c, &least);
    }
    lose_paid(c, &least, log->line_count, &outage, CLOCK_NEVER);
    return true;
}

void check_budget_fini(struct check *c)
{
    free(c->spent_until_ns);
}

// Returns how many lines were read until then.
static size_t lines_until(const struct subject_log *log, int64_t at_ns)
{
    size_t low = 0, high = log->line_count;

    while (low < high) {
        size_t mid = low + (high - low) / 2;
        if (log->lines[mid].read_ns <= at_ns)
            low = mid + 1;
        else
            high = mid;
    }
    return low;
}

int64_t check_spent_ns(const struct check *c, int64_t from_ns, int64_t until_ns)
{
    const struct subject_log *log = c->l->log;
    int64_t ns = 0;

    if (!c->spent_until_ns)
        return 0;
    size_t first = lines_until(log, from_ns);
    for (size_t i = first > 0 ? first - 1 : 0; i < log->line_count; i++) {
        int64_t begin_ns = log->lines[i].read_ns, end_ns = c->spent_until_ns[i];
        if (begin_ns >= until_ns)
            break;
        if (end_ns == 0)
            continue;
        end_ns = clock_min(end_ns + c->r->slack_ns, until_ns);
        if (i + 1 < log->line_count)
            end_ns = clock_min(end_ns, log->lines[i + 1].read_ns);
        begin_ns = begin_ns > from_ns ? begin_ns : from_ns;
        ns += end_ns > begin_ns ? end_ns - begin_ns : 0;
    }
    return ns;
}
