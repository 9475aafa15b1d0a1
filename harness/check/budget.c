// Finds the lines at which the send budget was spent. There the subject may have had to write less
// than a full line, or to wait.
//
// The budget counts as spent at a line in three cases:
// - The lines of the second before it, or of the second after it, hold at least 80% of the tokens
//   that the budget allows in a second. With a small budget, the time of ten tokens takes the place
//   of the second.
// - The line leaves less than half of the burst in the harness's own token bucket.
// - The line lay unread, so nobody knows how soon it followed the others.
#include "check/inside.h"

#include <stdlib.h>

#include "base/clock.h"

// A collector that has spent this share of its budget has too little left for more tokens.
#define BUDGET_SPENT 0.8

bool check_is_budget_spent(double per_s, uint64_t tokens, int64_t ns)
{
    return per_s > 0 && tokens > 0 &&
           (double)tokens >= BUDGET_SPENT * per_s * (double)ns / NS_PER_S;
}

// Returns the time over which the tokens of lines are compared with the budget: one second or, with
// a small budget, the time of ten tokens.
static int64_t budget_window_ns(double per_s)
{
    int64_t ten_ns = (int64_t)(10e9 / per_s);

    return ten_ns > NS_PER_S ? ten_ns : NS_PER_S;
}

// Marks the lines around which the budget was used up. Two windows move over the lines: one ends at
// a line, the other begins there.
static void find_used_up(struct check *c, double per_s)
{
    const struct subject_log *log = c->l->log;
    int64_t window_ns = budget_window_ns(per_s);
    uint64_t before = 0, behind = 0; // tokens in the two windows; each window includes line i
    uint32_t first = 0, next = 0;    // first line of the first window, first line after the second

    for (uint32_t i = 0; i < log->line_count; i++) {
        int64_t at_ns = log->lines[i].read_ns;
        before += log->lines[i].tokens;
        for (; log->lines[first].read_ns < at_ns - window_ns; first++)
            before -= log->lines[first].tokens;
        for (; next < log->line_count && log->lines[next].read_ns <= at_ns + window_ns; next++)
            behind += log->lines[next].tokens;
        c->spent[i] = check_is_budget_spent(per_s, before, window_ns) ||
                      check_is_budget_spent(per_s, behind, window_ns);
        behind -= log->lines[i].tokens;
    }
}

// Marks the lines that leave less than half of the burst in the harness's own token bucket. The
// database's bucket may hold less still, because a collector may have paid for a line that it never
// wrote.
static void find_emptied(struct check *c, double per_s, double burst)
{
    const struct subject_log *log = c->l->log;
    double left = burst;

    for (uint32_t i = 0; i < log->line_count; i++) {
        if (i > 0)
            left += (double)(log->lines[i].read_ns - log->lines[i - 1].read_ns) / 1e9 * per_s;
        left = (left > burst ? burst : left) - log->lines[i].tokens;
        left = left > 0 ? left : 0;
        c->spent[i] = c->spent[i] || left < burst / 2;
    }
}

// Marks the lines that lay unread. Nobody knows how soon they followed each other.
static void find_unread(struct check *c)
{
    const struct subject_log *log = c->l->log;

    for (size_t i = 0; i < log->line_count; i++) {
        int64_t read_ns = log->lines[i].read_ns;
        c->spent[i] = c->spent[i] ||
                      check_written_ns(c, &log->lines[i]) < read_ns - c->r->slack_ns ||
                      check_unread_ns(c, EVERY, read_ns - c->r->slack_ns, read_ns) > 0;
    }
}

bool check_budget(struct check *c, struct err *e)
{
    struct leased m;

    leased_read(&m, c->l->scenario);
    c->budget_per_s = m.budget_per_s;
    if (m.budget_per_s <= 0)
        return true;
    c->spent = calloc(c->l->log->line_count + 1, sizeof *c->spent);
    if (!c->spent)
        return err_memory(e);
    find_used_up(c, m.budget_per_s);
    find_emptied(c, m.budget_per_s, m.burst);
    find_unread(c);
    return true;
}

void check_budget_fini(struct check *c)
{
    free(c->spent);
}
