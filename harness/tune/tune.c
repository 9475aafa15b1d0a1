// Compares pairs, and recommends one. Pure.
//
// Larger batches are paid for with latency. The pairs that no other pair beats in batch size and
// p99 are on the front. tune.h says which pair is recommended. A weighted sum of batch size and p99
// is not used, because its weights would have to say what a millisecond is worth to the user.
#include "tune/tune.h"

#include <math.h>

#include "measure/stats.h"
#include "scenario/units.h"

static double p99(const struct tune_pair *p)
{
    return p->values[METRIC_LATENCY_P99];
}

bool tune_holds(const struct expectation *x, double got)
{
    if (isnan(got))
        return false;
    // The comparison is <, <=, >, >=, = or !=.
    switch (x->comparison[0]) {
    case '<':
        return x->comparison[1] ? got <= x->value : got < x->value;
    case '>':
        return x->comparison[1] ? got >= x->value : got > x->value;
    case '=':
        // Figures are computed, so two equal figures may differ in their last digits.
        return fabs(got - x->value) < 1e-9;
    default:
        return fabs(got - x->value) >= 1e-9;
    }
}

// True when `a` is at least as good as `b` in batch size and p99, and better in one of them.
static bool dominates(const struct tune_pair *a, const struct tune_pair *b)
{
    bool as_good = a->tokens_per_batch >= b->tokens_per_batch && p99(a) <= p99(b);

    return as_good && (a->tokens_per_batch > b->tokens_per_batch || p99(a) < p99(b));
}

// True when half of the runs or more were inconclusive; false for a simulated pair, which has no
// runs. The conclusive runs alone would make a slow pair look too good, because slowness makes runs
// inconclusive.
static bool mostly_inconclusive(const struct tune_pair *p)
{
    return p->inconclusive > 0 && 2 * p->inconclusive >= p->runs;
}

// True when the p99 of the pair is known and can be trusted.
static bool gave_result(const struct tune_pair *p)
{
    return !isnan(p99(p)) && !mostly_inconclusive(p);
}

static bool is_usable(const struct tune_pair *p)
{
    return !p->broken && gave_result(p);
}

void tune_judge(struct tune *t)
{
    for (size_t i = 0; i < t->count; i++) {
        struct tune_pair *p = &t->pairs[i];
        const struct expectation *x = t->objective;
        p->meets = !x || tune_holds(x, p->values[metric_find(x->metric)->id]);
        p->on_front = is_usable(p);
        // A pair that is not usable is not on the front, and keeps no other pair off it. One that
        // misses the objective can be on it.
        for (size_t k = 0; k < t->count; k++)
            p->on_front = p->on_front && !(is_usable(&t->pairs[k]) && dominates(&t->pairs[k], p));
    }
}

// True when `a` is to be recommended rather than `b`. The caller has checked that both may be.
static bool preferred(const struct tune *t, const struct tune_pair *a, const struct tune_pair *b)
{
    // Without an objective, latency is the price of a batch: the pair with the cheapest tokens
    // wins.
    if (!t->objective)
        return p99(a) / a->tokens_per_batch < p99(b) / b->tokens_per_batch;
    // With an objective, both pairs are fast enough: larger batches win, as they need fewer lines.
    if (a->tokens_per_batch != b->tokens_per_batch)
        return a->tokens_per_batch > b->tokens_per_batch;
    return p99(a) < p99(b);
}

static bool can_be_recommended(const struct tune_pair *p)
{
    return p->meets && is_usable(p) && p->tokens_per_batch > 0;
}

const struct tune_pair *tune_recommend(const struct tune *t)
{
    const struct tune_pair *best = NULL;

    for (size_t i = 0; i < t->count; i++) {
        const struct tune_pair *p = &t->pairs[i];
        if (can_be_recommended(p) && (!best || preferred(t, p, best)))
            best = p;
    }
    return best;
}

// True if `a` is to be run rather than `b`: pairs that can be recommended come first. The model may
// be wrong, so of the other pairs those with the least p99 come first: they may meet the objective
// after all.
static bool comes_before(const struct tune *t, const struct tune_pair *a, const struct tune_pair *b)
{
    if (can_be_recommended(a) != can_be_recommended(b))
        return can_be_recommended(a);
    return can_be_recommended(a) ? preferred(t, a, b) : p99(a) < p99(b);
}

void tune_leave_out(struct tune *t, size_t keep)
{
    for (size_t i = 0; i < t->count; i++)
        t->pairs[i].left_out = true;
    // Pick the best of the remaining pairs again and again. This needs no sorting, because there
    // are few pairs.
    for (; keep > 0; keep--) {
        struct tune_pair *best = NULL;
        for (size_t i = 0; i < t->count; i++) {
            struct tune_pair *p = &t->pairs[i];
            if (p->left_out && (!best || comes_before(t, p, best)))
                best = p;
        }
        if (best)
            best->left_out = false;
    }
}

static size_t count_results(const struct tune *t)
{
    size_t results = 0;

    for (size_t i = 0; i < t->count; i++)
        results += gave_result(&t->pairs[i]);
    return results;
}

static size_t count_broken(const struct tune *t)
{
    size_t broken = 0;

    for (size_t i = 0; i < t->count; i++)
        broken += t->pairs[i].broken;
    return broken;
}

bool tune_has_result(const struct tune *t)
{
    return count_results(t) > 0 || count_broken(t) > 0;
}

bool tune_all_broken(const struct tune *t)
{
    for (size_t i = 0; i < t->count; i++) {
        if (is_usable(&t->pairs[i]))
            return false;
    }
    return count_broken(t) > 0;
}

// Returns the pair on the front whose batches are the next larger ones after those of `p`; NULL
// when there is none.
static const struct tune_pair *next_larger(const struct tune *t, const struct tune_pair *p)
{
    const struct tune_pair *next = NULL;

    for (size_t i = 0; i < t->count; i++) {
        const struct tune_pair *other = &t->pairs[i];
        if (other->on_front && other->tokens_per_batch > p->tokens_per_batch &&
            (!next || other->tokens_per_batch < next->tokens_per_batch))
            next = other;
    }
    return next;
}

void tune_print_name(const struct tune_pair *p, struct buf *out)
{
    buf_printf(out, "limit %d and timeout ", p->limit);
    units_print_duration(out, p->timeout_ns);
}

const char *tune_remark(const struct tune *t, const struct tune_pair *p)
{
    if (p->broken)
        return "breaks an invariant";
    if (p->left_out)
        return "left out by the model";
    if (!gave_result(p))
        return p->runs == 0 ? "not run" : "inconclusive";
    if (p == tune_recommend(t))
        return "take this";
    if (!p->meets)
        return "misses the objective";
    return p->on_front ? "on the front" : "";
}

// Prints a remark if the pair had fewer than three conclusive runs, or if the confidence interval
// leaves it in doubt whether the objective is met. Two runs give no useful interval.
static void print_doubt(const struct tune *t, const struct tune_pair *p, struct buf *out)
{
    const struct precision *judged = &p->judged;
    size_t conclusive = p->runs - p->inconclusive;

    if (t->simulated)
        return;
    if (conclusive < 3)
        buf_printf(out, ", %s only", conclusive == 1 ? "one run" : "two runs");
    // Values of 0 do not count for the interval (precision.h), so there may be none.
    else if (t->objective && judged->count >= 3 &&
             (!tune_holds(t->objective, judged->low) || !tune_holds(t->objective, judged->high)))
        buf_printf(out, ", not for certain: %.4g to %.4g", judged->low, judged->high);
}

// Prints why the recommended pair `p` is the best. Expects "Take limit … and timeout …" before it.
static void print_reason(const struct tune *t, const struct tune_pair *p, struct buf *out)
{
    if (t->objective) {
        const struct metric *m = metric_find(t->objective->metric);
        const char *unit = metric_unit_name(m->unit);
        buf_printf(out, ". It keeps %s %s (%.4g%s%s", m->name, t->objective->want, p->values[m->id],
            *unit ? " " : "", unit);
        print_doubt(t, p, out);
        buf_printf(out, ") and sends the fewest lines (%.1f mails each). ", p->tokens_per_batch);
    } else {
        buf_printf(out,
            ". It pays the least latency for its batches: a p99 of %.4g ms for %.1f mails", p99(p),
            p->tokens_per_batch);
        print_doubt(t, p, out);
        buf_append_str(out, ". ");
    }
}

// True if some pair with the same limit and a longer timeout, up to longer_ns, was run, and broke
// an invariant or missed the objective.
static bool longer_timeout_failed(
    const struct tune *t, const struct tune_pair *p, int64_t longer_ns)
{
    for (size_t i = 0; i < t->count; i++) {
        const struct tune_pair *q = &t->pairs[i];
        bool longer = q->timeout_ns > p->timeout_ns && q->timeout_ns <= longer_ns;
        bool failed = q->broken || (gave_result(q) && !q->meets);
        if (q->limit == p->limit && longer && failed)
            return true;
    }
    return false;
}

// Suggests a longer timeout that the grid does not have. A token waits for its line at most until
// the timeout. So the timeout may grow by as much as the measured latency is below the objective. A
// scenario's timeout is one hour at most.
static void print_longer_timeout(const struct tune *t, const struct tune_pair *p, struct buf *out)
{
    const struct expectation *x = t->objective;
    const struct metric *m = x ? metric_find(x->metric) : NULL;
    const int64_t step_ns = 10 * NS_PER_MS, hour_ns = 3600 * NS_PER_S;

    // Batches that are nearly always full fire before the timeout, so a longer one changes nothing.
    bool full = p->tokens_per_batch > 0.95 * p->limit;
    if (!m || m->unit != UNIT_MS || x->comparison[0] != '<' || full)
        return;
    double worst = p->judged.count >= 3 ? p->judged.high : p->values[m->id];
    // Stay 1 ns below the bound, because an objective with < excludes it; then round down to whole
    // 10 ms. fmax turns NAN, an unknown figure, into 0.
    double bound_ns = fmax(0, (double)p->timeout_ns + (x->value - worst) * NS_PER_MS - 1);
    int64_t longer_ns = (int64_t)fmin(bound_ns, (double)hour_ns);
    longer_ns -= longer_ns % step_ns;
    if (longer_ns < p->timeout_ns + step_ns || longer_timeout_failed(t, p, longer_ns))
        return;
    buf_append_str(out, "By these figures a timeout of ");
    units_print_duration(out, longer_ns);
    buf_append_str(out, " keeps it, too; --timeout ");
    units_print_duration(out, longer_ns);
    buf_append_str(out, " tries that. ");
}

// Prints which pair to take and why, and what larger batches would cost. There must be such a pair.
static void print_pick(const struct tune *t, struct buf *out)
{
    const struct tune_pair *p = tune_recommend(t), *larger = next_larger(t, p);

    buf_append_str(out, "Take ");
    tune_print_name(p, out);
    print_reason(t, p, out);
    print_longer_timeout(t, p, out);
    // After runs, a pair that was broken or not run may still have larger batches. A simulation
    // covers all pairs and breaks nothing.
    if (!larger) {
        const char *none = t->simulated ? "No pair sends fewer lines.\n"
                                        : "No sound pair that was run sends fewer lines.\n";
        buf_append_str(out, count_results(t) == 1 ? "No other pair gave a result.\n" : none);
        return;
    }
    buf_append_str(out, "Fewer lines would come with ");
    tune_print_name(larger, out);
    buf_printf(
        out, ": %.1f mails each, at a p99 of %.4g ms.\n", larger->tokens_per_batch, p99(larger));
}

static void print_interruption(const struct tune *t, struct buf *out)
{
    size_t run = 0;

    for (size_t i = 0; i < t->count; i++)
        run += t->pairs[i].runs > 0;
    buf_printf(out, "Interrupted, with runs of %zu of the %zu pairs. ", run, t->count);
}

// Says how many pairs were not run because the model prefers others.
static void print_left_out(const struct tune *t, struct buf *out)
{
    size_t left_out = 0;

    for (size_t i = 0; i < t->count; i++)
        left_out += t->pairs[i].left_out;
    if (left_out > 0)
        buf_printf(out,
            "%zu of %zu pairs come later in the model and were not run; --repeat 3 runs all, "
            "three times.\n",
            left_out, t->count);
}

// Says that no pair meets the objective, and how many pairs gave a result. If some are broken, it
// says "without breaking an invariant", because these may meet the objective.
static bool print_missed(const struct tune *t, struct buf *out)
{
    size_t results = 0;

    for (size_t i = 0; i < t->count; i++)
        results += t->pairs[i].broken || gave_result(&t->pairs[i]);
    buf_printf(out, "No pair keeps %s %s", t->objective->metric, t->objective->want);
    if (count_broken(t) > 0)
        buf_append_str(out, " without breaking an invariant");
    if (results < t->count)
        buf_printf(out, ", of %zu that gave a result; %zu gave none", results, t->count - results);
    return buf_append_str(out, ".\n");
}

bool tune_print_recommendation(const struct tune *t, struct buf *out)
{
    bool found = tune_recommend(t);

    // Begin with what makes all that follows doubtful.
    if (t->over_budget)
        buf_append_str(out, t->budget);
    if (t->gaps && *t->gaps)
        buf_printf(out, "Incomplete: %s.\n", t->gaps);
    if (t->interrupted)
        print_interruption(t, out);
    if (!found && !tune_has_result(t))
        return buf_append_str(out, "No pair can be recommended: no run was conclusive, and each "
                                   "says why in its folder.\n");
    // Without an objective, a pair that gave a result can only fail by a broken invariant.
    if (!found && (!t->objective || tune_all_broken(t)))
        return buf_printf(out, "No pair can be recommended: each breaks an invariant%s.\n",
            count_broken(t) < t->count ? " or came to no result" : "");
    if (!found)
        return print_missed(t, out);
    print_pick(t, out);
    print_left_out(t, out);
    return buf_append_str(out, t->budget && !t->over_budget ? t->budget : "");
}

bool tune_print_model(const struct tune *t, struct buf *out)
{
    double p50[TUNE_PAIRS_MAX], tokens[TUNE_PAIRS_MAX];
    size_t count = 0;

    for (size_t i = 0; i < t->count; i++) {
        const struct tune_pair *p = &t->pairs[i];
        if (isnan(p->model_p50_off) || isnan(p->model_tokens_off))
            continue;
        p50[count] = fabs(p->model_p50_off);
        tokens[count++] = fabs(p->model_tokens_off);
    }
    if (count == 0)
        return true;
    double p50_median = stats_median(p50, count), tokens_median = stats_median(tokens, count);
    // stats_median has sorted the values, so the last one is the largest.
    return buf_printf(out,
        "Check of the simulation: it predicts the measured p50 from commit within %.0f%% (worst "
        "pair %.0f%%) and the mails of a line within %.0f%% (worst %.0f%%).\n",
        100 * p50_median, 100 * p50[count - 1], 100 * tokens_median, 100 * tokens[count - 1]);
}
