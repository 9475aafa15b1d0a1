#include "tune/pair_figures.h"

#include <math.h>

const struct figure_text figure_texts[FIGURE_COUNT] = {
    [FIGURE_P50] = {"p50_ms", "p50,", "ms", "latency p50, ms",
        "from the intended insert to the line that was read, half of the tokens", 2, false},
    [FIGURE_P99] = {"p99_ms", "p99,", "ms", "latency p99, ms",
        "from the intended insert to the line that was read, all but one in a hundred", 2, false},
    [FIGURE_TOKENS] = {"tokens_per_batch", "tokens", "/batch", "tokens per batch",
        "larger batches are fewer sends", 2, true},
    [FIGURE_ROUND_TRIPS] = {"round_trips_per_token", "trips", "/token", "round trips per token",
        "the collector's questions to the server (its ReadyForQuery answers), counted by a proxy "
        "in a run of its own",
        2, false},
    [FIGURE_WAL] = {"wal_bytes_per_token", "WAL B", "/token", "WAL bytes per token",
        "of the whole server: the inserts are the same for all pairs, so a difference between "
        "pairs is the collector's",
        0, false},
    [FIGURE_BACKEND_CPU] = {"backend_cpu_ms_per_1000", "server", "CPU ms",
        "server CPU, ms per 1,000 tokens",
        "of the collector's backends, to the nearest 10 ms of a run", 1, false},
    [FIGURE_COLLECTOR_CPU] = {"cpu_ms_per_1000", "coll.", "CPU ms",
        "collector CPU, ms per 1,000 tokens", "of the collector's own processes", 1, false},
    [FIGURE_MODEL_P50] = {"model_p50_ms", "", "", "", "", 2, false},
    [FIGURE_MODEL_TOKENS] = {"model_tokens_per_batch", "", "", "", "", 2, true},
};

// The colour scale covers at least this ratio of worst to best, so that small differences stay
// pale.
static const double least_range = 2;

double figure_of(const struct tune_pair *p, enum tune_figure figure)
{
    const double figures[FIGURE_COUNT] = {
        [FIGURE_P50] = p->values[METRIC_LATENCY_P50],
        [FIGURE_P99] = p->values[METRIC_LATENCY_P99],
        [FIGURE_TOKENS] = p->tokens_per_batch,
        [FIGURE_ROUND_TRIPS] = p->cost.round_trips,
        [FIGURE_WAL] = p->cost.wal_bytes,
        [FIGURE_BACKEND_CPU] = p->cost.backend_cpu_ms,
        [FIGURE_COLLECTOR_CPU] = p->cost.collector_cpu_ms,
        [FIGURE_MODEL_P50] = p->model_p50_ms,
        [FIGURE_MODEL_TOKENS] = p->model_tokens_per_batch,
    };

    return figures[figure];
}

double figure_heat(const struct tune *t, const struct tune_pair *p, enum tune_figure figure)
{
    double value = figure_of(p, figure), least = INFINITY, most = 0;

    for (size_t i = 0; i < t->count; i++) {
        double other = figure_of(&t->pairs[i], figure);
        if (!(other > 0))
            continue;
        least = fmin(least, other);
        most = fmax(most, other);
    }
    if (isnan(value))
        return NAN;
    // Zero has no logarithm. It is the worst figure if more is better, otherwise the best.
    if (!(value > 0))
        return figure_texts[figure].more_is_better && most > 0 ? 1 : 0;
    // Logarithms compare ratios, so that doubling a figure looks the same at any size. The least
    // range keeps noise from getting strong colours.
    double range = fmax(log(most / least), log(least_range));
    return figure_texts[figure].more_is_better ? log(most / value) / range
                                               : log(value / least) / range;
}

void figure_print(
    const struct tune_pair *p, enum tune_figure figure, const char *none, struct buf *out)
{
    double value = figure_of(p, figure);

    if (isnan(value))
        buf_append_str(out, none);
    else
        buf_printf(out, "%.*f", figure_texts[figure].digits, value);
}

void figure_print_short(
    const struct tune_pair *p, enum tune_figure figure, const char *none, struct buf *out)
{
    double value = figure_of(p, figure);

    if (isnan(value))
        buf_append_str(out, none);
    else
        // At 9.995, two digits after the point would round to 10.00, which has four digits.
        buf_printf(out, "%.*f", value < 9.995 ? 2 : value < 99.95 ? 1 : 0, value);
}

const struct tune_pair *figure_pair_at(const struct tune *t, int limit, int64_t timeout_ns)
{
    for (size_t i = 0; i < t->count; i++) {
        if (t->pairs[i].limit == limit && t->pairs[i].timeout_ns == timeout_ns)
            return &t->pairs[i];
    }
    return NULL;
}

struct figure_axes figure_axes(const struct tune *t)
{
    struct figure_axes a = {0};

    for (size_t i = 0; i < t->count; i++) {
        const struct tune_pair *p = &t->pairs[i];
        size_t row = 0, column = 0;
        while (row < a.rows && a.limits[row] != p->limit)
            row++;
        while (column < a.columns && a.timeouts_ns[column] != p->timeout_ns)
            column++;
        if (row == a.rows)
            a.limits[a.rows++] = p->limit;
        if (column == a.columns)
            a.timeouts_ns[a.columns++] = p->timeout_ns;
    }
    return a;
}
