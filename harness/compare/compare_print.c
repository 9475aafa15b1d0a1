#include "compare/compare.h"

#include <math.h>

#include "report/files/parse_json.h"

static const char *metric_unit_text(const struct compared *row)
{
    return metric_unit_name(metrics[row->id].unit);
}

// Prints a median with its unit. It is infinite when it is not known (compare.h).
static void put_metric_value(const struct compared *row, double value, char *text, size_t size)
{
    const char *unit = metric_unit_text(row);

    if (isfinite(value))
        snprintf(text, size, "%.4g%s%s", value, *unit ? " " : "", unit);
    else
        snprintf(text, size, "unknown");
}

// False for a ratio that comes from a zero or an infinite value.
static bool is_ratio(double ratio)
{
    return ratio > 1e-6 && ratio < 1e6;
}

static void put_ratio(double ratio, char *text, size_t size)
{
    if (is_ratio(ratio))
        snprintf(text, size, "%.2f", ratio);
    else
        snprintf(text, size, "unknown");
}

static void put_ratio_interval(const struct stats_ratio *r, char *text, size_t size)
{
    if (is_ratio(r->low) && is_ratio(r->high))
        snprintf(text, size, "%.2f to %.2f", r->low, r->high);
    else
        snprintf(text, size, "unknown");
}

// Prints "27% higher than that of A (25 to 29%)".
static void put_change(const struct compared *row, const char *base, struct buf *out)
{
    double ratio = row->ratio.estimate;
    bool higher = ratio > 1;
    double low = higher ? row->ratio.low - 1 : 1 - row->ratio.high;
    double high = higher ? row->ratio.high - 1 : 1 - row->ratio.low;

    // One side's values are mostly zero or infinite, for example because its runs were
    // inconclusive. So the direction comes from the change and not from the ratio.
    if (!is_ratio(ratio)) {
        higher = row->more_is_better == (row->change == CHANGE_BETTER);
        buf_printf(out, "beyond measure %s than that of %s", higher ? "higher" : "lower", base);
        return;
    }
    buf_printf(
        out, "%.0f%% %s than that of %s", 100 * fabs(ratio - 1), higher ? "higher" : "lower", base);
    if (is_ratio(row->ratio.low) && is_ratio(row->ratio.high))
        buf_printf(out, " (%.0f to %.0f%%)", 100 * low, 100 * high);
}

void print_cells(const struct compared *row, struct print_cells *cells)
{
    put_metric_value(row, row->base, cells->base, sizeof cells->base);
    put_metric_value(row, row->new, cells->new, sizeof cells->new);
    put_ratio(row->ratio.estimate, cells->ratio, sizeof cells->ratio);
    put_ratio_interval(&row->ratio, cells->interval, sizeof cells->interval);
    snprintf(cells->p, sizeof cells->p, "%.2g", row->ratio.p);
}

void print_compared_counts(const struct comparison *c, struct buf *out)
{
    buf_printf(out, "%s: %zu %s of %s, %zu of %s", c->scenario, c->base->count,
        NOUN(c->base->count, "run", "runs"), c->base->name, c->new->count, c->new->name);
}

static void print_metric_rows(const struct comparison *c, struct buf *out)
{
    char interval[32];

    snprintf(interval, sizeof interval, "%.4g%% interval", 100 * c->confidence);
    buf_printf(out, "  %-16s %14s %14s %8s %16s %9s\n", "median of runs", c->base->name,
        c->new->name, "ratio", interval, "p");
    for (size_t i = 0; i < c->row_count; i++) {
        struct print_cells cells;
        print_cells(&c->rows[i], &cells);
        buf_printf(out, "  %-16s %14s %14s %8s %16s %9s  %s\n", metrics[c->rows[i].id].name,
            cells.base, cells.new, cells.ratio, cells.interval, cells.p,
            change_name(c->rows[i].change));
    }
}

// Appends a line for each way in which runs failed, or that none failed, and the notes about other
// differences between the sides.
static void print_compared_failures(const struct comparison *c, const char *indent, struct buf *out)
{
    for (int f = 0; f < FAILURES; f++) {
        if (c->base_failed.hits[f] + c->new_failed.hits[f] > 0)
            buf_printf(out, "%s%s in %zu of %zu runs of %s, in %zu of %zu of %s\n", indent,
                compare_failure_name(f), c->base_failed.hits[f], c->base->count, c->base->name,
                c->new_failed.hits[f], c->new->count, c->new->name);
    }
    // Ten runs without a failure do not prove that a hundred would have none. The number in "one
    // run of" is rounded down, to be cautious, but up from .75 on: the 3.86 of ten runs becomes 4.
    if (c->base_failed.any + c->new_failed.any == 0 && c->base->count > 0 && c->new->count > 0)
        buf_printf(out,
            "%sno run failed; with %zu runs a side, a failure in one run of %.0f could still go "
            "unseen\n",
            indent, c->base->count < c->new->count ? c->base->count : c->new->count,
            fmax(1, floor(1 / c->unseen + 0.25)));
    for (size_t i = 0; i < c->note_count; i++)
        buf_printf(out, "%s%s\n", indent, c->notes[i]);
}

void print_correctness(const struct comparison *c, struct buf *out)
{
    print_compared_failures(c, "", out);
}

// Returns the row that differs most among those whose change is the overall one; NULL: none.
static const struct compared *find_strongest_row(const struct comparison *c)
{
    const struct compared *found = NULL;

    for (size_t i = 0; i < c->row_count; i++) {
        const struct compared *row = &c->rows[i];
        if (row->change == c->overall &&
            (!found || fabs(log(row->ratio.estimate)) > fabs(log(found->ratio.estimate))))
            found = row;
    }
    return found;
}

// Prints why no metric of speed has a row.
static void print_no_rows(const struct comparison *c, struct buf *out)
{
    if (c->base_failed.hits[FAILURE_INCONCLUSIVE] == c->base_failed.runs ||
        c->new_failed.hits[FAILURE_INCONCLUSIVE] == c->new_failed.runs)
        buf_append_str(out, "a side has no conclusive run");
    else
        buf_append_str(out, "no metric of speed was measured in all conclusive runs");
}

// Prints why the comparison cannot tell: the rows whose change is unknown, and what would help.
static void print_unknown(const struct comparison *c, struct buf *out)
{
    const char *between = "";
    size_t unknown = 0;

    buf_append_str(out, "cannot tell: ");
    if (c->correctness == CHANGE_UNKNOWN) {
        buf_append_str(out, "too few runs to tell which side fails more often");
        between = "; ";
    }
    // With too few runs every row is unknown, so naming them all would say less than this reason.
    if (c->too_few) {
        buf_printf(out, "%stoo few runs to tell a difference in speed from chance", between);
        return;
    }
    if (c->row_count == 0) {
        buf_append_str(out, between);
        print_no_rows(c, out);
        return;
    }
    for (size_t i = 0; i < c->row_count; i++) {
        if (c->rows[i].change != CHANGE_UNKNOWN)
            continue;
        buf_printf(out, "%s%s", between, metrics[c->rows[i].id].name);
        between = ", ";
        unknown++;
    }
    if (unknown > 0)
        buf_printf(out, " may differ by more than %.4g%% or not; more runs narrow the intervals",
            100 * c->margin);
}

void print_comparison_verdict(const struct comparison *c, struct buf *out)
{
    // The sentence names one metric. The table shows the others.
    const struct compared *row = find_strongest_row(c);

    if (c->correctness == CHANGE_WORSE) {
        buf_printf(out, "regression: runs of %s fail more often than those of %s", c->new->name,
            c->base->name);
    } else if (c->correctness == CHANGE_BETTER) {
        buf_printf(out, "better: runs of %s fail less often than those of %s; speed does not count",
            c->new->name, c->base->name);
    } else if (c->overall == CHANGE_UNKNOWN) {
        print_unknown(c, out);
    } else if (c->overall == CHANGE_NONE || !row) { // better or worse always has a row
        buf_printf(out, "no difference: every interval lies within %.4g%%", 100 * c->margin);
    } else {
        buf_printf(out, "%s: %s of %s is ", c->overall == CHANGE_WORSE ? "regression" : "better",
            metrics[row->id].name, c->new->name);
        put_change(row, c->base->name, out);
    }
}

bool print_terminal(const struct comparison *c, struct buf *out)
{
    print_compared_counts(c, out);
    buf_append_char(out, '\n');
    print_metric_rows(c, out);
    print_compared_failures(c, "  ", out);
    buf_append_str(out, "  ");
    print_comparison_verdict(c, out);
    return buf_append_str(out, "\n");
}

bool print_markdown(const struct comparison *c, struct buf *out)
{
    buf_append_str(out, "### ");
    print_compared_counts(c, out);
    buf_append_str(out, "\n\n**");
    print_comparison_verdict(c, out);
    buf_printf(out, "**\n\n| median of runs | %s | %s | ratio | %.4g%% interval | p | |\n",
        c->base->name, c->new->name, 100 * c->confidence);
    buf_append_str(out, "|---|--:|--:|--:|---|--:|---|\n");
    for (size_t i = 0; i < c->row_count; i++) {
        struct print_cells cells;
        print_cells(&c->rows[i], &cells);
        buf_printf(out, "| %s | %s | %s | %s | %s | %s | %s |\n", metrics[c->rows[i].id].name,
            cells.base, cells.new, cells.ratio, cells.interval, cells.p,
            change_name(c->rows[i].change));
    }
    buf_append_char(out, '\n');
    print_compared_failures(c, "- ", out);
    return buf_append_char(out, '\n');
}

// Returns half the distance between the quartiles of the runs.
static double side_spread(const struct side *s, enum metric_id id)
{
    double *values FREED_BY(memory_free) = memory_zeroed(s->count, sizeof *values);
    size_t n = 0;

    for (size_t i = 0; i < s->count; i++) {
        if (s->runs[i].verdict != VERDICT_INCONCLUSIVE && !isnan(s->runs[i].values[id]))
            values[n++] = s->runs[i].values[id];
    }
    // stats_median sorts the values, which the next lines rely on.
    stats_median(values, n);
    return n > 0 ? (values[n - 1 - n / 4] - values[n / 4]) / 2 : 0;
}

static json_t *metric_entry_json(const struct comparison *c, const struct compared *row)
{
    char name[200], range[40];

    snprintf(name, sizeof name, "%s %s", c->scenario, metrics[row->id].name);
    snprintf(range, sizeof range, "± %.4g", side_spread(c->new, row->id));
    return json_pack("{s:s, s:s, s:f, s:s}", "name", name, "unit", metric_unit_text(row), "value",
        row->new, "range", range);
}

bool print_json(const struct comparison *list, size_t count, struct buf *out)
{
    json_t *entries = json_array();

    for (size_t i = 0; i < count; i++) {
        for (size_t k = 0; k < list[i].row_count; k++) {
            // Readers of customSmallerIsBetter take smaller for better, which is false for a rate.
            if (metrics[list[i].rows[k].id].unit != UNIT_PER_S && isfinite(list[i].rows[k].new))
                json_array_append_new(entries, metric_entry_json(&list[i], &list[i].rows[k]));
        }
    }
    return append_root(entries, JSON_INDENT(2) | JSON_REAL_PRECISION(6), out);
}

// Appends a cell of a CSV row, which is empty when there is no number.
static void put_number_cell(struct buf *out, double value)
{
    if (isfinite(value))
        buf_printf(out, "%.6g", value);
    buf_append_char(out, ',');
}

static void put_ratio_cell(struct buf *out, double ratio)
{
    put_number_cell(out, is_ratio(ratio) ? ratio : NAN);
}

bool print_csv(const struct comparison *list, size_t count, struct buf *out)
{
    // The figures have more digits here than in the table, and no words, because a program reads
    // them.
    buf_append_str(
        out, "scenario,metric,unit,base_runs,base,new_runs,new,ratio,low,high,p,change\n");
    for (size_t i = 0; i < count; i++) {
        const struct comparison *c = &list[i];
        for (size_t k = 0; k < c->row_count; k++) {
            const struct compared *row = &c->rows[k];
            buf_printf(out, "%s,%s,%s,%zu,", c->scenario, metrics[row->id].name,
                metric_unit_text(row), c->base->count);
            put_number_cell(out, row->base);
            buf_printf(out, "%zu,", c->new->count);
            put_number_cell(out, row->new);
            put_ratio_cell(out, row->ratio.estimate);
            put_ratio_cell(out, row->ratio.low);
            put_ratio_cell(out, row->ratio.high);
            put_number_cell(out, row->ratio.p);
            buf_printf(out, "%s\n", change_name(row->change));
        }
    }
    return !out->failed;
}
