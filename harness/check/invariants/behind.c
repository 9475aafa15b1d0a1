// falls_behind: the backlog grows although the subject can sustain the rate, or the backlog that a
// fault left does not shrink. It is judged where `collector.capacity` is known and the rate is at
// most 0.8 of it. A lower MAILROOM_BUDGET takes the place of the capacity.
// - The backlog grows: this needs 2 s or more without faults. A line through the mean backlogs of
//   ten blocks of that time has a slope that is above 0 with a confidence of 95%, and above 2% of
//   the rate. The backlog also grew by three batches and three times the square root of what comes
//   in a second.
// - The backlog stays: in recovery_limit + 2 × backlog ÷ (capacity − rate) of free time after a
//   fault's end, there was no moment at which as few tokens waited as usual: two batches and twice
//   what comes in the batch timeout + slack. The rate is the highest of that time.
#include "check/invariants/backlog.h"

#include <math.h>

static const double load_most = 0.8; // the highest rate that is judged, as a share of the capacity
static const int64_t stretch_least_ns = 2 * NS_PER_S;
// The least growth that counts, as a share of the rate. In a stretch of seconds, random arrivals
// alone may grow or shrink a backlog by less.
static const double growth_least = 0.02;
enum { BLOCKS = 10 };
static const double student_95 = 1.860; // Student's t for 95%, one-sided, with 8 degrees of freedom

// The time that a fault took from the subject.
struct trouble {
    int64_t from_ns, until_ns; // from_ns first, to be sorted by
    const char *name;
};

struct behind {
    const struct check *c;
    struct trouble *troubles; // owned; in the order of their beginning
    size_t trouble_count;
    struct backlog backlog;
    double capacity; // tokens per second that the subject sustains, within its budget
};

// --- the backlog grows ------------------------------------------------------------

// Returns how many tokens waited between two times, on average.
static double mean_of(const struct backlog *b, int64_t from_ns, int64_t until_ns)
{
    size_t first = backlog_step(b, from_ns), last = backlog_step(b, until_ns);
    double sum = 0;

    for (size_t i = first; i <= last; i++)
        sum += b->waiting[i];
    return sum / (double)(last - first + 1);
}

struct slope {
    double per_s;
    double least_per_s; // tokens per second: with a confidence of 95% the true slope is above it
    double growth;      // tokens: the mean of the last fifth less that of the first
};

// Fits a straight line, by least squares, to the mean backlogs of ten blocks of time, because such
// means hardly depend on each other. `x` is the time of a block's middle, in seconds from the
// middle of all blocks.
static struct slope slope_of(const struct backlog *b, int64_t from_ns, int64_t until_ns)
{
    double means[BLOCKS], mean = 0, sxy = 0, sxx = 0, residuals = 0;
    int64_t block_ns = (until_ns - from_ns) / BLOCKS;
    double block_s = (double)block_ns / 1e9;

    for (int i = 0; i < BLOCKS; i++) {
        means[i] = mean_of(b, from_ns + i * block_ns, from_ns + (i + 1) * block_ns);
        mean += means[i] / BLOCKS;
    }
    for (int i = 0; i < BLOCKS; i++) {
        double x = (i - (BLOCKS - 1) / 2.0) * block_s;
        sxy += x * (means[i] - mean);
        sxx += x * x;
    }
    struct slope s = {.per_s = sxy / sxx};
    for (int i = 0; i < BLOCKS; i++) {
        double x = (i - (BLOCKS - 1) / 2.0) * block_s;
        double off = means[i] - mean - s.per_s * x;
        residuals += off * off;
    }
    s.least_per_s = s.per_s - student_95 * sqrt(residuals / (BLOCKS - 2) / sxx);
    s.growth = (means[BLOCKS - 1] + means[BLOCKS - 2] - means[0] - means[1]) / 2;
    return s;
}

// Adds a finding if the backlog grows in this stretch, in which no trouble lasts.
static void check_stretch(const struct behind *t, double rate, int64_t from_ns, int64_t until_ns)
{
    const struct scenario_collector *s = &t->c->l->scenario->collector;

    // A shorter stretch has too few lines to show a trend.
    if (until_ns - from_ns < stretch_least_ns)
        return;
    judged_add(t->c->r, METRIC_FALLS_BEHIND, (double)(until_ns - from_ns) / 1e9, CAUSE_IS_NONE);
    struct slope slope = slope_of(&t->backlog, from_ns, until_ns);
    // Less growth than this may come from batches and random arrivals: at the highest rate that is
    // judged (load_most), random arrivals make queues that last.
    double noise = 3.0 * s->batch_limit + 3 * sqrt(rate);
    if (slope.least_per_s <= 0 || slope.per_s < growth_least * rate || slope.growth < noise)
        return;
    finding_add(t->c->r, METRIC_FALLS_BEHIND,
        "from %.3f s to %.3f s the backlog grew by %.1f tokens per second at %.0f/s, though %.0f/s "
        "is its capacity",
        ledger_seconds(t->c->l, from_ns), ledger_seconds(t->c->l, until_ns), slope.per_s, rate,
        t->capacity);
}

// Checks the parts of a phase outside of troubles and outside of the time in which the subject
// works off what the troubles left.
static void judge_phase_growth(
    const struct behind *t, const struct load_phase *phase, int64_t from_ns, int64_t until_ns)
{
    double rate = phase->rate_from > phase->rate_to ? phase->rate_from : phase->rate_to;
    // At the beginning of a phase the backlog changes until lines of the new rate have come.
    int64_t settle_ns = 2 * t->c->l->scenario->collector.batch_timeout_ns + t->c->r->slack_ns;
    int64_t make_up_ns = 2 * t->c->l->scenario->recovery_limit_ns;

    // Connections in a closed loop, and a trace, have no rate that could be compared with the
    // capacity.
    if (phase->closed || phase->arrivals == ARRIVALS_TRACE || rate <= 0 ||
        rate > load_most * t->capacity)
        return;
    from_ns += settle_ns;
    for (size_t i = 0; i < t->trouble_count; i++) {
        const struct trouble *trouble = &t->troubles[i];
        check_stretch(t, rate, from_ns, clock_min(trouble->from_ns, until_ns));
        // What the fault left is judged by check_left_over.
        from_ns = clock_max(from_ns, trouble->until_ns + make_up_ns);
    }
    check_stretch(t, rate, from_ns, until_ns);
}

// --- the backlog stays ------------------------------------------------------------

// Returns when the backlog that a fault left must be gone while tokens come at this rate: after
// recovery_limit and twice the time that the spare capacity needs for the `waiting` tokens.
static int64_t gone_by_ns(
    const struct behind *t, const struct trouble *trouble, double rate, double waiting)
{
    const struct scenario *s = t->c->l->scenario;
    double seconds = 2 * waiting / (t->capacity - rate);

    return timeline_due_ns(&t->c->timeline, EVERY, trouble->until_ns,
        s->recovery_limit_ns + (int64_t)(seconds * NS_PER_S));
}

// Adds a finding if the backlog that the trouble left did not become as low as usual in time.
static void check_left_over(const struct behind *t, const struct trouble *trouble)
{
    const struct check *c = t->c;
    const struct scenario *s = c->l->scenario;
    const struct backlog *b = &t->backlog;
    double timeout_s = (double)(s->collector.batch_timeout_ns + c->r->slack_ns) / 1e9;
    size_t first = backlog_step(b, trouble->until_ns);
    int64_t start_ns = c->l->start_ns, due_ns = 0;
    int64_t over_ns = trouble->until_ns - start_ns; // from the load's beginning
    double rate = -1, next = lookup_highest_rate(s, over_ns, over_ns);

    // A later phase with a higher rate makes the backlog last longer, perhaps into yet another
    // phase.
    while (next > rate && next <= load_most * t->capacity) {
        rate = next;
        due_ns = gone_by_ns(t, trouble, rate, b->waiting[first]);
        next = lookup_highest_rate(s, over_ns, due_ns - start_ns);
    }
    double usual = 2.0 * s->collector.batch_limit + 2 * rate * timeout_s;
    // next > rate: the loop stopped at a phase that is too fast to be judged. A backlog that may
    // outlast the drain is not judged, either.
    if (next > rate || b->waiting[first] <= usual || due_ns > c->l->drain_end_ns)
        return;
    judged_add(
        c->r, METRIC_FALLS_BEHIND, (double)(due_ns - trouble->until_ns) / 1e9, CAUSE_IS_NONE);
    // It is enough that the backlog was once as low as usual.
    for (size_t i = first; i <= backlog_step(b, due_ns); i++) {
        if (b->waiting[i] <= usual)
            return;
    }
    finding_add(c->r, METRIC_FALLS_BEHIND,
        "%d %s waited when %s was over at %.3f s, and still %d at %.3f s", (int)b->waiting[first],
        NOUN(b->waiting[first], "token", "tokens"), trouble->name,
        ledger_seconds(c->l, trouble->until_ns), (int)b->waiting[backlog_step(b, due_ns)],
        ledger_seconds(c->l, due_ns));
}

// Lists the faults that struck or slowed the subject. Where others work in the place of a struck
// instance, the trouble ends at the latest when they must do so. A strike from which nobody comes
// back is left out: it leaves lost tokens, which backlog_make does not count.
static void list_troubles(struct behind *t)
{
    const struct timeline *line = &t->c->timeline;

    t->troubles = memory_zeroed(line->strike_count + line->slowdown_count, sizeof *t->troubles);
    for (size_t i = 0; i < line->strike_count; i++) {
        const struct strike *k = &line->strikes[i];
        int64_t until_ns = clock_min(clock_max(k->undone_ns, k->back_ns), k->others_ns);
        const char *name = k->cause.kind == CAUSE_SENDER ? "a sender's death" : k->verb->name;
        if (until_ns != CLOCK_NEVER)
            t->troubles[t->trouble_count++] = (struct trouble){k->struck_ns, until_ns, name};
    }
    for (size_t i = 0; i < line->slowdown_count; i++) {
        const struct slowdown *d = &line->slowdowns[i];
        t->troubles[t->trouble_count++] = (struct trouble){d->from_ns, d->until_ns, d->verb->name};
    }
    qsort(t->troubles, t->trouble_count, sizeof *t->troubles, clock_compare);
}

// Judges how the backlog grew in each phase of the load, and what each trouble left of it.
static void judge_backlog(const struct behind *t)
{
    const struct scenario *s = t->c->l->scenario;
    int64_t at_ns = t->c->l->start_ns;

    for (size_t i = 0; i < s->load_count; i++) {
        // A run may end within a phase.
        judge_phase_growth(
            t, &s->load[i], at_ns, clock_min(at_ns + s->load[i].for_ns, t->c->l->load_end_ns));
        at_ns += s->load[i].for_ns;
    }
    for (size_t i = 0; i < t->trouble_count; i++)
        check_left_over(t, &t->troubles[i]);
}

void check_behind(const struct check *c)
{
    struct behind t = {.c = c, .capacity = c->l->scenario->collector.capacity};

    if (t.capacity <= 0)
        return;
    // A collector that obeys its budget sustains no more than the budget.
    if (c->leased.budget_per_s > 0)
        t.capacity = fmin(t.capacity, c->leased.budget_per_s);
    backlog_make(&t.backlog, c->l);
    list_troubles(&t);
    judge_backlog(&t);
    free(t.troubles);
    free(t.backlog.waiting);
}
