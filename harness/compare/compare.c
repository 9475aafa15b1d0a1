#include "compare/compare.h"

#include <math.h>
#include <stdlib.h>

#define FALSE_ALARMS 0.05

// What decides. Other metrics follow these or are too noisy to add anything.
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

// These depend on how busy the machine is: one case in one run may be its mood.
static bool is_timing(enum metric_id id)
{
    return id == METRIC_EARLY || id == METRIC_LATE || id == METRIC_UNRECOVERED ||
           id == METRIC_BUSY_IDLE;
}

// Violated by more than promises on time; a broken expectation on a count names
// no invariant.
bool compare_violated_for_good(const struct stored *run)
{
    bool timing = false;

    for (enum metric_id id = 0; id < METRIC_COUNT; id++) {
        if (run->broken[id] && !is_timing(id))
            return true;
        timing = timing || run->broken[id];
    }
    return run->verdict == VERDICT_VIOLATED && !timing;
}

static void count_broken(const struct side *s, size_t *used, size_t *violated, size_t *broke)
{
    for (size_t i = 0; i < s->count; i++) {
        const struct stored *run = &s->runs[i];
        if (run->verdict == VERDICT_INCONCLUSIVE)
            continue;
        (*used)++;
        *violated += compare_violated_for_good(run);
        for (enum metric_id id = 0; id < METRIC_COUNT; id++)
            broke[id] += run->broken[id];
    }
}

// Has one side broken it and the other not? Once is enough, a promise is kept
// always or not at all; but promises on time must be broken beyond chance.
static bool breaks_more(
    size_t broke, size_t used, size_t other_broke, size_t other_used, bool timing)
{
    if (used == 0 || other_used == 0)
        return false;
    if (timing)
        return stats_hits_p(other_broke, other_used, broke, used) <= FALSE_ALARMS / 2;
    return broke > 0 && other_broke == 0;
}

static enum change judge_correctness(const struct comparison *c)
{
    size_t used_base = c->base_used, used_new = c->new_used;
    bool worse = breaks_more(c->violated_new, used_new, c->violated_base, used_base, false);
    bool better = breaks_more(c->violated_base, used_base, c->violated_new, used_new, false);

    for (enum metric_id id = 0; id < METRIC_COUNT; id++) {
        size_t base = c->broke_base[id], new = c->broke_new[id];
        worse = worse || breaks_more(new, used_new, base, used_base, is_timing(id));
        better = better || breaks_more(base, used_base, new, used_new, is_timing(id));
    }
    return worse ? CHANGE_WORSE : better ? CHANGE_BETTER : CHANGE_NONE;
}

// False when a run did not measure it.
static bool values_of(const struct side *s, enum metric_id id, double *values)
{
    size_t n = 0;

    for (size_t i = 0; i < s->count; i++) {
        if (s->runs[i].verdict == VERDICT_INCONCLUSIVE)
            continue;
        if (isnan(s->runs[i].values[id]))
            return false;
        values[n++] = s->runs[i].values[id];
    }
    return n > 0;
}

static enum change judge_row(
    const struct compared *row, bool more_is_better, double alpha, double min_effect)
{
    double times = more_is_better ? 1 / row->ratio.estimate : row->ratio.estimate;

    if (row->ratio.p > alpha || (times < 1 + min_effect && times > 1 / (1 + min_effect)))
        return CHANGE_NONE;
    return times > 1 ? CHANGE_WORSE : CHANGE_BETTER;
}

static size_t count_measured(const struct comparison *c, double *values)
{
    size_t count = 0;

    for (size_t i = 0; i < JUDGED; i++)
        count +=
            values_of(c->base, judged[i].id, values) && values_of(c->new, judged[i].id, values);
    return count;
}

static bool compare_metric(struct comparison *c, size_t i, double *base, double *new, double alpha,
    double min_effect, struct err *e)
{
    struct compared *row = &c->rows[c->row_count];

    if (!values_of(c->base, judged[i].id, base) || !values_of(c->new, judged[i].id, new))
        return true;
    if (!stats_compare(&row->ratio, base, c->base_used, new, c->new_used, alpha, e))
        return false;
    row->id = judged[i].id;
    row->base = stats_median(base, c->base_used);
    row->new = stats_median(new, c->new_used);
    row->change = stats_smallest_p(c->base_used, c->new_used) > alpha
                      ? CHANGE_UNKNOWN
                      : judge_row(row, judged[i].more_is_better, alpha, min_effect);
    c->row_count++;
    return true;
}

static bool compare_speed(struct comparison *c, double min_effect, struct err *e)
{
    double *base = calloc(c->base->count + 1, sizeof *base);
    double *new = calloc(c->new->count + 1, sizeof *new);
    bool ok = (base && new) || err_set(e, ERR_INTERNAL, "out of memory");
    size_t measured = ok ? count_measured(c, c->base->count > c->new->count ? base : new) : 0;
    double alpha = FALSE_ALARMS / (double)(measured ? measured : 1);

    c->confidence = 1 - alpha;
    for (size_t i = 0; ok && i < JUDGED; i++)
        ok = compare_metric(c, i, base, new, alpha, min_effect, e);
    free(base);
    free(new);
    return ok;
}

// Faster at one thing and slower at another is slower: somebody relies on it.
static enum change judge_overall(const struct comparison *c)
{
    enum change overall = c->row_count > 0 ? CHANGE_NONE : CHANGE_UNKNOWN;

    if (c->correctness != CHANGE_NONE)
        return c->correctness;
    for (size_t i = 0; i < c->row_count; i++) {
        enum change change = c->rows[i].change;
        if (change == CHANGE_WORSE || change == CHANGE_UNKNOWN)
            return change;
        if (change == CHANGE_BETTER)
            overall = CHANGE_BETTER;
    }
    return overall;
}

bool compare_sides(struct comparison *c, const struct side *base, const struct side *new,
    double min_effect, struct err *e)
{
    *c = (struct comparison){.base = base, .new = new};
    c->scenario = base->count > 0 ? base->runs[0].scenario : "";
    count_broken(base, &c->base_used, &c->violated_base, c->broke_base);
    count_broken(new, &c->new_used, &c->violated_new, c->broke_new);
    c->correctness = judge_correctness(c);
    if (!compare_speed(c, min_effect, e))
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
        [CHANGE_UNKNOWN] = "too few runs",
    };

    return names[change];
}

int change_exit_code(enum change change)
{
    return change == CHANGE_WORSE ? 4 : change == CHANGE_UNKNOWN ? 2 : 0;
}

bool side_add(struct side *s, const struct stored *run)
{
    struct stored *more = realloc(s->runs, (s->count + 1) * sizeof *more);

    if (!more)
        return false;
    s->runs = more;
    s->runs[s->count++] = *run;
    return true;
}

void side_fini(struct side *s)
{
    free(s->runs);
    *s = (struct side){0};
}
