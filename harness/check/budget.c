// Finds the lines at which the send budget was spent. There the subject may have had to write less
// than a full line, or to wait, so the checks do not hold this against it.
//
// The budget counts as spent at a line in three cases:
// - The lines of the second before it, or of the second after it, hold at least 80% of the tokens
//   that the budget allows in a second. With a small budget, the time of ten tokens takes the place
//   of the second.
// - The line leaves less than half of the burst in the harness's own token bucket.
// - The line lay unread. Then the times at which lines were read do not tell how fast the subject
//   wrote them.
#include "check/inside.h"

// A collector that has used this share of its budget may have too little left for a full line.
#define BUDGET_SPENT 0.8

bool check_is_budget_spent(double per_s, uint64_t tokens, int64_t ns)
{
    return per_s > 0 && tokens > 0 &&
           (double)tokens >= BUDGET_SPENT * per_s * (double)ns / NS_PER_S;
}

// Returns the length of time in which tokens are counted against the budget: one second or, with a
// small budget, the time in which it allows ten tokens.
static int64_t budget_window_ns(double per_s)
{
    int64_t ten_ns = (int64_t)(10e9 / per_s);

    return ten_ns > NS_PER_S ? ten_ns : NS_PER_S;
}

// Marks the lines around which the budget was nearly used up (check_is_budget_spent). For each
// line, counts the tokens of two windows of time. One ends at the line: its tokens are paid for, so
// little was left for this line. The other begins there: the collector may pay for lines before it
// writes them. From one line to the next, both sums only gain the lines that enter a window and
// lose those that leave it.
static void mark_near_limit(struct check *c, double per_s)
{
    const struct subject_log *log = c->l->log;
    int64_t window_ns = budget_window_ns(per_s);
    uint64_t before = 0, after = 0; // tokens of the two windows; both include line i
    uint32_t first = 0;             // the first line in the window that ends at line i
    uint32_t next = 0;              // the first line after the window that begins at line i

    for (uint32_t i = 0; i < log->line_count; i++) {
        int64_t at_ns = log->lines[i].read_ns;
        before += log->lines[i].tokens;
        for (; log->lines[first].read_ns < at_ns - window_ns; first++)
            before -= log->lines[first].tokens;
        for (; next < log->line_count && log->lines[next].read_ns <= at_ns + window_ns; next++)
            after += log->lines[next].tokens;
        c->spent[i] = check_is_budget_spent(per_s, before, window_ns) ||
                      check_is_budget_spent(per_s, after, window_ns);
        after -= log->lines[i].tokens;
    }
}

// Marks the lines that leave less than half of `burst` tokens in the harness's own token bucket,
// which gains per_s tokens a second and holds `burst` at most. The real bucket, in the database,
// may hold less than this one, because a collector may have paid for a line that it never wrote.
static void mark_emptied(struct check *c, double per_s, double burst)
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

// Marks the lines that lay unread, or that were read within the slack after a time in which any
// collector's lines may have lain unread, because all share the budget. How fast they were written
// is not known.
static void mark_unread(struct check *c)
{
    const struct subject_log *log = c->l->log;

    for (size_t i = 0; i < log->line_count; i++) {
        int64_t read_ns = log->lines[i].read_ns;
        c->spent[i] = c->spent[i] ||
                      check_written_ns(c, &log->lines[i]) < read_ns - c->r->slack_ns ||
                      check_unread_ns(c, EVERY, read_ns - c->r->slack_ns, read_ns) > 0;
    }
}

void check_budget(struct check *c)
{
    c->spent = memory_zeroed(c->l->log->line_count, sizeof *c->spent);
    if (c->leased.budget_per_s <= 0)
        return;
    mark_near_limit(c, c->leased.budget_per_s);
    mark_emptied(c, c->leased.budget_per_s, c->leased.burst);
    mark_unread(c);
}
