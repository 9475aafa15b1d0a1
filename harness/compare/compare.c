// Judges two sides of stored runs. Pure.
//
// A test needs five runs a side at least. Ten runs a side find a difference of a quarter on a
// machine whose runs differ by a tenth.
//
// Correctness may raise half of the false alarms that compare.h allows, speed the other half.
// compare_test.c proves this by a thousand simulated series for each claim.
//
// Correctness comes first, as rates of runs. 10 failed runs of 10 are worse than 1 of 10; 1 of 10
// cannot be told from 0 of 10. So a rare failure raises no alarm. Fisher's exact test compares the
// rates, because the counts are too small for any approximation.
//
// A row of speed needs two things to say worse or better: the rank test finds the sides different,
// and the ratio lies outside the margin. With many runs, a test alone would also find differences
// that nobody cares about.
#include "compare/compare.h"

#include <math.h>

// How often two equal sides may be called worse.
#define FALSE_ALARMS 0.05

// The metrics that decide about speed. Other metrics follow these or are too noisy.
static const struct {
    enum metric_id id;
    bool more_is_better;
} judged[] = {
    {METRIC_LATENCY_P50, false},
    {METRIC_LATENCY_P99, false},
    {METRIC_RATE_DELIVERED, true},
    {METRIC_RECOVERY_MAX, false},
    {METRIC_COLLECTOR_CPU_S, false},
};

#define JUDGED (sizeof judged / sizeof *judged)
_Static_assert(JUDGED <= COMPARED_MAX, "a row for each");

static bool is_timing(enum metric_id id)
{
    return metrics[id].traits & TRAIT_TIME;
}

// The table of metrics lists the invariants by their importance to users.
enum metric_id compare_worst(const struct stored *run)
{
    enum metric_id worst = METRIC_COUNT;

    for (enum metric_id id = 0; id < METRIC_COUNT; id++) {
        if (run->broken[id] && (worst == METRIC_COUNT || (is_timing(worst) && !is_timing(id))))
            worst = id;
    }
    return worst;
}

bool compare_broke_more_than_timing(const struct stored *run)
{
    const enum metric_id worst = compare_worst(run);

    // A violated run without any broken invariant missed an expectation of its scenario, or its
    // collector could not be kept running.
    return worst == METRIC_COUNT ? run->verdict == VERDICT_VIOLATED : !is_timing(worst);
}

const char *compare_failure_name(int failure)
{
    return failure == FAILURE_INCONCLUSIVE ? "inconclusive"
           : failure == FAILURE_OTHERWISE  ? "violated"
                                           : metrics[failure].name;
}

// Counts the failed runs of a side. A run counts in each way in which it failed, but once in `any`.
static struct failed count_failures(const struct side *s)
{
    struct failed failed = {.runs = s->count};

    for (size_t i = 0; i < s->count; i++) {
        const struct stored *run = &s->runs[i];
        bool inconclusive = run->verdict == VERDICT_INCONCLUSIVE, any = false;
        for (enum metric_id id = 0; id < METRIC_COUNT; id++) {
            failed.hits[id] += run->broken[id];
            any = any || run->broken[id];
        }
        failed.hits[FAILURE_INCONCLUSIVE] += inconclusive;
        failed.hits[FAILURE_OTHERWISE] += run->verdict == VERDICT_VIOLATED && !any;
        failed.any += inconclusive || run->verdict == VERDICT_VIOLATED;
    }
    return failed;
}

// Counts the ways to fail that any run has shown. Fisher's test takes the sum of both sides as
// given, so leaving out the other ways does not change its error rate.
static size_t ways_seen(const struct comparison *c)
{
    size_t ways = 0;

    for (int f = 0; f < FAILURES; f++)
        ways += c->base_failed.hits[f] + c->new_failed.hits[f] > 0;
    return ways;
}

// True when more runs of `one` fail than chance explains: all its failed runs together, or those
// that failed in one way. `ways` is the number of ways that are tested.
static bool fails_more(const struct failed *one, const struct failed *other, size_t ways)
{
    // Correctness has half of the false alarms. One half of these is for the test of all failed
    // runs together, the other for the tests of the single ways.
    const double alpha = FALSE_ALARMS / 2 / 2;

    if (stats_hits_p(other->any, other->runs, one->any, one->runs) <= alpha)
        return true;
    for (int f = 0; f < FAILURES; f++) {
        if (one->hits[f] > 0 && stats_hits_p(other->hits[f], other->runs, one->hits[f],
                                    one->runs) <= alpha / (double)ways)
            return true;
    }
    return false;
}

// True when the sides cannot differ, because no run failed or all runs failed in the same way. A
// few inconclusive runs do not count: a busy machine makes them on either side, and fails_more has
// found that neither side has too many.
static bool fail_alike(const struct comparison *c)
{
    for (int f = 0; f < FAILURES; f++) {
        if (f == FAILURE_INCONCLUSIVE)
            continue;
        bool none = c->base_failed.hits[f] + c->new_failed.hits[f] == 0;
        bool all =
            c->base_failed.hits[f] == c->base->count && c->new_failed.hits[f] == c->new->count;
        if (!none && !all)
            return false;
    }
    return true;
}

// Judges whether the new side's runs fail more or less often than the base's.
static enum change judge_correctness(const struct comparison *c)
{
    size_t ways = ways_seen(c);

    if (fails_more(&c->new_failed, &c->base_failed, ways))
        return CHANGE_WORSE;
    if (fails_more(&c->base_failed, &c->new_failed, ways))
        return CHANGE_BETTER;
    return fail_alike(c) ? CHANGE_NONE : CHANGE_UNKNOWN;
}

// --- speed ------------------------------------------------------------------------------

// Writes the values of a side's runs. An inconclusive run counts as worse than all others, because
// what makes runs slow makes them inconclusive, too. Returns false when no run is conclusive, or
// when a conclusive run lacks the value.
static bool fill_values(const struct side *s, size_t metric, double *values)
{
    // Leaving inconclusive runs out would make a side look faster by its own failures.
    const double worst = judged[metric].more_is_better ? 0 : INFINITY;
    bool any = false;

    for (size_t i = 0; i < s->count; i++) {
        bool conclusive = s->runs[i].verdict != VERDICT_INCONCLUSIVE;
        // A row needs the value of every run: the ranks of some runs prove nothing about the
        // others.
        if (conclusive && isnan(s->runs[i].values[judged[metric].id]))
            return false;
        values[i] = conclusive ? s->runs[i].values[judged[metric].id] : worst;
        any = any || conclusive;
    }
    return any;
}

// Judges a row. It is worse or better when the test finds a difference and the ratio lies outside
// the margin, and shows no difference when the whole interval lies within the margin. Else it is
// unknown.
static enum change judge_row(const struct compared *row, double alpha, double margin)
{
    // How many times worse the new side is.
    double times_worse = row->more_is_better ? 1 / row->ratio.estimate : row->ratio.estimate;

    if (row->ratio.p <= alpha && (times_worse >= 1 + margin || times_worse <= 1 / (1 + margin)))
        return times_worse > 1 ? CHANGE_WORSE : CHANGE_BETTER;
    return row->ratio.low >= 1 / (1 + margin) && row->ratio.high <= 1 + margin ? CHANGE_NONE
                                                                               : CHANGE_UNKNOWN;
}

// Returns the median of a side's values; INFINITY when at least half of the runs were inconclusive,
// because the median would then come from the value that fill_values gives to such runs.
static double known_median(const struct failed *side, double *values)
{
    return 2 * side->hits[FAILURE_INCONCLUSIVE] < side->runs ? stats_median(values, side->runs)
                                                             : INFINITY;
}

// Adds the row of judged metric number i. A metric that some run lacks gets no row, which is no
// error. `base` and `new` have room for the values of each side. Differences with a p-value above
// `alpha` may be chance.
static bool compare_metric(
    struct comparison *c, size_t i, double *base, double *new, double alpha, struct err *e)
{
    struct compared *row = &c->rows[c->row_count];

    if (!fill_values(c->base, i, base) || !fill_values(c->new, i, new))
        return true;
    if (!stats_compare(&row->ratio, base, c->base->count, new, c->new->count, alpha, e))
        return false;
    row->id = judged[i].id;
    row->more_is_better = judged[i].more_is_better;
    row->base = known_median(&c->base_failed, base);
    row->new = known_median(&c->new_failed, new);
    row->change = c->too_few ? CHANGE_UNKNOWN : judge_row(row, alpha, c->margin);
    c->row_count++;
    return true;
}

// Fills in the rows of speed, and the confidence that they share. False when a side has too many
// runs.
static bool compare_speed(struct comparison *c, struct err *e)
{
    double *base FREED_BY(memory_free) = memory_zeroed(c->base->count, sizeof *base);
    double *new FREED_BY(memory_free) = memory_zeroed(c->new->count, sizeof *new);
    size_t measured = 0; // number of judged metrics that every run of both sides has
    bool ok = true;

    for (size_t i = 0; i < JUDGED; i++)
        measured += fill_values(c->base, i, base) && fill_values(c->new, i, new);
    // FALSE_ALARMS is divided among the rows that are really judged, so a scenario with few metrics
    // keeps the sharper test. Each test is two-sided: half of its share falls to worse, half to
    // better. So half of the false alarms is left for correctness (fails_more).
    double alpha = FALSE_ALARMS / (double)(measured ? measured : 1);

    c->confidence = 1 - alpha;
    // If the test could not even tell sides that do not overlap, no row is judged.
    c->too_few = stats_smallest_p(c->base->count, c->new->count) > alpha;
    for (size_t i = 0; ok && i < JUDGED; i++)
        ok = compare_metric(c, i, base, new, alpha, e);
    return ok;
}

// True when the row is unknown, and its interval reaches beyond the margin on the worse side.
static bool may_be_worse(const struct compared *row, double margin)
{
    bool ruled_out =
        row->more_is_better ? row->ratio.low >= 1 / (1 + margin) : row->ratio.high <= 1 + margin;

    return row->change == CHANGE_UNKNOWN && !ruled_out;
}

// Combines the rows. If one metric is slower, the whole is slower, because somebody relies on that
// metric.
static enum change judge_overall(const struct comparison *c)
{
    bool has[CHANGE_UNKNOWN + 1] = {false}, any_may_be_worse = false;

    for (size_t i = 0; i < c->row_count; i++) {
        has[c->rows[i].change] = true;
        any_may_be_worse = any_may_be_worse || may_be_worse(&c->rows[i], c->margin);
    }
    if (c->correctness == CHANGE_WORSE || c->correctness == CHANGE_BETTER)
        return c->correctness;
    if (has[CHANGE_WORSE])
        return CHANGE_WORSE;
    // "Better" must not hide that something else may be worse.
    if (c->correctness == CHANGE_UNKNOWN || c->row_count == 0 || any_may_be_worse)
        return CHANGE_UNKNOWN;
    if (has[CHANGE_BETTER])
        return CHANGE_BETTER;
    return has[CHANGE_UNKNOWN] ? CHANGE_UNKNOWN : CHANGE_NONE;
}

bool compare_sides(struct comparison *c, const struct side *base, const struct side *new,
    double margin, struct err *e)
{
    size_t fewer = base->count < new->count ? base->count : new->count;

    *c = (struct comparison){.base = base, .new = new, .margin = margin};
    c->scenario = base->count > 0 ? base->runs[0].scenario : "";
    c->base_failed = count_failures(base);
    c->new_failed = count_failures(new);
    // The highest failure rate that so few runs without a failure leave possible, at 95%.
    c->unseen = stats_rate_high(0, fewer, 0.05);
    c->correctness = judge_correctness(c);
    if (!compare_speed(c, e))
        return false;
    c->overall = judge_overall(c);
    return true;
}

const char *change_name(enum change change)
{
    static const char *const names[] = {
        [CHANGE_NONE] = "no difference",
        [CHANGE_BETTER] = "better",
        [CHANGE_WORSE] = "worse",
        [CHANGE_UNKNOWN] = "cannot tell",
    };

    return names[change];
}

int change_exit_code(enum change change)
{
    return change == CHANGE_WORSE ? 4 : change == CHANGE_UNKNOWN ? 2 : 0;
}

void side_add(struct side *s, const struct stored *run)
{
    memory_grow(&s->runs, s->count, 1, sizeof *run);
    s->runs[s->count++] = *run;
}

void side_fini(struct side *s)
{
    free(s->runs);
    *s = (struct side){0};
}
