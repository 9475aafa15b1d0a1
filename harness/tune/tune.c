#include "tune/tune.h"

#include <math.h>

#include "base/clock.h"
#include "measure/stats.h"
#include "scenario/units.h"

static double p99(const struct tune_pair *p)
{
    return p->values[METRIC_LATENCY_P99];
}

static bool holds(const struct expectation *x, double got)
{
    if (isnan(got))
        return false;
    switch (x->comparison[0]) {
    case '<':
        return x->comparison[1] ? got <= x->value : got < x->value;
    case '>':
        return x->comparison[1] ? got >= x->value : got > x->value;
    case '=':
        return fabs(got - x->value) < 1e-9;
    default:
        return fabs(got - x->value) >= 1e-9;
    }
}

static bool beats(const struct tune_pair *a, const struct tune_pair *b)
{
    bool as_good = a->tokens_per_batch >= b->tokens_per_batch && p99(a) <= p99(b);

    return as_good && (a->tokens_per_batch > b->tokens_per_batch || p99(a) < p99(b));
}

void tune_judge(struct tune *t)
{
    for (size_t i = 0; i < t->count; i++) {
        struct tune_pair *p = &t->pairs[i];
        const struct expectation *x = t->objective;
        p->meets = !x || holds(x, p->values[metric_find(x->metric)->id]);
        p->on_front = !p->broken && !isnan(p99(p));
        for (size_t k = 0; k < t->count; k++)
            p->on_front = p->on_front && (t->pairs[k].broken || !beats(&t->pairs[k], p));
    }
}

// Which of two that are both fit to be recommended is better.
static bool preferred(const struct tune *t, const struct tune_pair *a, const struct tune_pair *b)
{
    if (t->objective && a->tokens_per_batch >= b->tokens_per_batch)
        return a->tokens_per_batch > b->tokens_per_batch || p99(a) < p99(b);
    if (t->objective)
        return false;
    return p99(a) / a->tokens_per_batch < p99(b) / b->tokens_per_batch;
}

const struct tune_pair *tune_recommend(const struct tune *t)
{
    const struct tune_pair *best = NULL;

    for (size_t i = 0; i < t->count; i++) {
        const struct tune_pair *p = &t->pairs[i];
        bool fit = !p->broken && p->meets && !isnan(p99(p)) && p->tokens_per_batch > 0;
        if (fit && (!best || preferred(t, p, best)))
            best = p;
    }
    return best;
}

// The next larger batches on the front: what is given up.
static const struct tune_pair *next_larger(const struct tune *t, const struct tune_pair *than)
{
    const struct tune_pair *next = NULL;

    for (size_t i = 0; i < t->count; i++) {
        const struct tune_pair *p = &t->pairs[i];
        if (p->on_front && p->tokens_per_batch > than->tokens_per_batch &&
            (!next || p->tokens_per_batch < next->tokens_per_batch))
            next = p;
    }
    return next;
}

static void print_pair(const struct tune_pair *p, struct buf *out)
{
    buf_printf(out, "limit %d and timeout ", p->limit);
    units_print_duration(out, p->timeout_ns);
}

bool tune_print_recommendation(const struct tune *t, struct buf *out)
{
    const struct tune_pair *p = tune_recommend(t);

    if (!p)
        return buf_printf(out, "No pair %s%s%s%s.\n",
            t->objective ? "keeps " : "can be recommended",
            t->objective ? t->objective->metric : "", t->objective ? " " : "",
            t->objective ? t->objective->want : "");
    const struct tune_pair *larger = next_larger(t, p);
    buf_append_str(out, "Take ");
    print_pair(p, out);
    if (t->objective)
        buf_printf(out,
            ": of the pairs that keep %s %s it makes the largest batches, %.1f tokens, at a p99 of "
            "%.4g ms. ",
            t->objective->metric, t->objective->want, p->tokens_per_batch, p99(p));
    else
        buf_printf(out,
            ": it pays the least latency for its batches, a p99 of %.4g ms for %.1f tokens. ",
            p99(p), p->tokens_per_batch);
    if (!larger)
        return buf_append_str(out, "No pair makes larger batches.\n");
    buf_append_str(out, "Larger batches would come with ");
    print_pair(larger, out);
    return buf_printf(
        out, ": %.1f tokens at a p99 of %.4g ms.\n", larger->tokens_per_batch, p99(larger));
}

// Processor time of the collector for a thousand tokens.
static double cpu_ms(const struct tune_pair *p)
{
    double delivered = p->values[METRIC_DELIVERED];

    return delivered > 0 ? p->values[METRIC_COLLECTOR_CPU_S] / delivered * 1e6 : NAN;
}

static void print_cell(double value, int width, int digits, struct buf *out)
{
    if (isnan(value))
        buf_printf(out, "%*s", width, "-");
    else
        buf_printf(out, "%*.*f", width, digits, value);
}

static const char *remark(const struct tune *t, const struct tune_pair *p)
{
    if (p->broken)
        return "breaks an invariant";
    if (isnan(p99(p)))
        return "inconclusive";
    if (p == tune_recommend(t))
        return "* take this";
    return !p->meets ? "misses the objective" : p->on_front ? "*" : "";
}

static void print_timeout(int64_t ns, int width, struct buf *out)
{
    size_t before = out->len;

    units_print_duration(out, ns);
    for (size_t len = out->len - before; len < (size_t)width; len++)
        buf_append_char(out, ' ');
}

bool tune_print(const struct tune *t, struct buf *out)
{
    buf_append_str(out,
        "                        latency in ms         batches of        CPU ms per\n"
        "  limit  timeout        p50         p99         tokens    1,000 tokens\n");
    for (size_t i = 0; i < t->count; i++) {
        const struct tune_pair *p = &t->pairs[i];
        buf_printf(out, "  %5d  ", p->limit);
        print_timeout(p->timeout_ns, 6, out);
        print_cell(p->values[METRIC_LATENCY_P50], 12, 2, out);
        print_cell(p99(p), 12, 2, out);
        print_cell(p->tokens_per_batch, 15, 2, out);
        print_cell(cpu_ms(p), 16, 1, out);
        buf_printf(out, "  %s\n", remark(t, p));
    }
    return buf_append_str(out, "  * no other pair has larger batches and a lower p99\n");
}

bool tune_print_markdown(const struct tune *t, struct buf *out)
{
    buf_append_str(out,
        "| limit | timeout | p50, ms | p99, ms | tokens per batch | CPU ms per 1,000 "
        "tokens | |\n|--:|--:|--:|--:|--:|--:|---|\n");
    for (size_t i = 0; i < t->count; i++) {
        const struct tune_pair *p = &t->pairs[i];
        buf_printf(out, "| %d | ", p->limit);
        units_print_duration(out, p->timeout_ns);
        buf_append_str(out, " | ");
        print_cell(p->values[METRIC_LATENCY_P50], 0, 2, out);
        buf_append_str(out, " | ");
        print_cell(p99(p), 0, 2, out);
        buf_append_str(out, " | ");
        print_cell(p->tokens_per_batch, 0, 2, out);
        buf_append_str(out, " | ");
        print_cell(cpu_ms(p), 0, 1, out);
        buf_printf(out, " | %s |\n", *remark(t, p) == '*' ? "Pareto front" : remark(t, p));
    }
    buf_append_char(out, '\n');
    return tune_print_recommendation(t, out);
}

static void print_number(double value, const char *none, struct buf *out)
{
    if (isnan(value))
        buf_append_str(out, none);
    else
        buf_printf(out, "%.6g", value);
}

// Every figure of a pair, with a word before each.
static void print_figures(
    const struct tune_pair *p, const char *const words[6], const char *none, struct buf *out)
{
    const double figures[] = {p->values[METRIC_LATENCY_P50], p99(p), p->tokens_per_batch, cpu_ms(p),
        p->model_p50_ms, p->model_tokens_per_batch};

    for (size_t i = 0; i < sizeof figures / sizeof *figures; i++) {
        buf_append_str(out, words[i]);
        print_number(figures[i], none, out);
    }
}

bool tune_print_json(const struct tune *t, struct buf *out)
{
    static const char *const words[] = {
        ", \"p50_ms\": ", ", \"p99_ms\": ", ", \"tokens_per_batch\": ", ", \"cpu_ms_per_1000\": ",
        ", \"model_p50_ms\": ", ", \"model_tokens_per_batch\": "};

    buf_append_str(out, "[\n");
    for (size_t i = 0; i < t->count; i++) {
        const struct tune_pair *p = &t->pairs[i];
        buf_printf(
            out, "  {\"limit\": %d, \"timeout_ms\": %.6g", p->limit, (double)p->timeout_ns / 1e6);
        print_figures(p, words, "null", out);
        buf_printf(out, ", \"on_front\": %s, \"meets\": %s, \"recommended\": %s}%s\n",
            p->on_front ? "true" : "false", p->meets ? "true" : "false",
            p == tune_recommend(t) ? "true" : "false", i + 1 < t->count ? "," : "");
    }
    return buf_append_str(out, "]\n");
}

bool tune_print_csv(const struct tune *t, struct buf *out)
{
    static const char *const commas[] = {",", ",", ",", ",", ",", ","};

    buf_append_str(out, "limit,timeout_ms,p50_ms,p99_ms,tokens_per_batch,cpu_ms_per_1000,"
                        "model_p50_ms,model_tokens_per_batch,on_front\n");
    for (size_t i = 0; i < t->count; i++) {
        const struct tune_pair *p = &t->pairs[i];
        buf_printf(out, "%d,%.6g", p->limit, (double)p->timeout_ns / 1e6);
        print_figures(p, commas, "", out);
        buf_printf(out, ",%d\n", p->on_front);
    }
    return !out->failed;
}

bool tune_print_model(const struct tune *t, int64_t query_ns, struct buf *out)
{
    double p50[TUNE_PAIRS_MAX], tokens[TUNE_PAIRS_MAX];
    size_t n = 0;

    for (size_t i = 0; i < t->count; i++) {
        const struct tune_pair *p = &t->pairs[i];
        if (isnan(p->model_p50_ms) || isnan(p->values[METRIC_COMMIT_LATENCY_P50]))
            continue;
        p50[n] = fabs(p->model_p50_ms / p->values[METRIC_COMMIT_LATENCY_P50] - 1);
        tokens[n++] = fabs(p->model_tokens_per_batch / p->tokens_per_batch - 1);
    }
    if (n == 0)
        return true;
    double p50_median = stats_median(p50, n), tokens_median = stats_median(tokens, n);
    // Sorted now: the last is the largest.
    return buf_printf(out,
        "The model of the batch window, with %.3g ms for a query, is off by %.0f%% for the p50 "
        "from commit (median of pairs; largest %.0f%%), by %.0f%% for tokens per batch (largest "
        "%.0f%%).\n",
        (double)query_ns / NS_PER_MS, 100 * p50_median, 100 * p50[n - 1], 100 * tokens_median,
        100 * tokens[n - 1]);
}
