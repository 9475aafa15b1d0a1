#include "compare/print.h"

#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *unit(const struct compared *row)
{
    return metric_unit_name(metrics[row->id].unit);
}

static const char *separator(const struct compared *row)
{
    return *unit(row) ? " " : "";
}

static bool print_value(const struct compared *row, double value, struct buf *out)
{
    char text[48];

    snprintf(text, sizeof text, "%.4g%s%s", value, separator(row), unit(row));
    return buf_printf(out, " %14s", text);
}

static bool print_interval(const struct stats_ratio *r, struct buf *out)
{
    char text[48];

    if (isinf(r->high))
        snprintf(text, sizeof text, "unknown");
    else
        snprintf(text, sizeof text, "%.2f to %.2f", r->low, r->high);
    return buf_printf(out, " %8.2f %16s %9.2g", r->estimate, text, r->p);
}

static void print_counts(const struct comparison *c, struct buf *out)
{
    size_t inconclusive = c->base->count + c->new->count - c->base_used - c->new_used;

    buf_printf(out, "%s: %zu runs of %s, %zu of %s", c->scenario, c->base_used, c->base->name,
        c->new_used, c->new->name);
    if (inconclusive > 0)
        buf_printf(out, ", %zu inconclusive left out", inconclusive);
}

static void print_rows(const struct comparison *c, struct buf *out)
{
    char interval[32];

    snprintf(interval, sizeof interval, "%.4g%% interval", 100 * c->confidence);
    buf_printf(out, "  %-16s %14s %14s %8s %16s %9s\n", "median of runs", c->base->name,
        c->new->name, "ratio", interval, "p");
    for (size_t i = 0; i < c->row_count; i++) {
        const struct compared *row = &c->rows[i];
        buf_printf(out, "  %-16s", metrics[row->id].name);
        print_value(row, row->base, out);
        print_value(row, row->new, out);
        print_interval(&row->ratio, out);
        buf_printf(out, "  %s\n", change_name(row->change));
    }
}

static void print_correctness(const struct comparison *c, const char *indent, struct buf *out)
{
    if (c->violated_base + c->violated_new > 0)
        buf_printf(out, "%sviolated in %zu of %zu runs of %s, in %zu of %zu of %s\n", indent,
            c->violated_base, c->base_used, c->base->name, c->violated_new, c->new_used,
            c->new->name);
    for (enum metric_id id = 0; id < METRIC_COUNT; id++) {
        if (c->broke_base[id] + c->broke_new[id] > 0)
            buf_printf(out, "%s%s broken in %zu runs of %s, in %zu of %s\n", indent,
                metrics[id].name, c->broke_base[id], c->base->name, c->broke_new[id], c->new->name);
    }
}

// The row that decided, with the largest ratio.
static const struct compared *strongest(const struct comparison *c)
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

static bool print_verdict(const struct comparison *c, struct buf *out)
{
    const struct compared *row = strongest(c);

    if (c->correctness == CHANGE_WORSE)
        return buf_printf(out, "regression: %s breaks what %s keeps", c->new->name, c->base->name);
    if (c->correctness == CHANGE_BETTER)
        return buf_printf(out, "better: %s keeps what %s breaks; speed does not count",
            c->new->name, c->base->name);
    if (c->overall == CHANGE_UNKNOWN)
        return buf_printf(out, "inconclusive: too few runs to tell a difference from chance");
    if (c->overall == CHANGE_NONE || !row)
        return buf_printf(out, "no difference was found");
    return buf_printf(out, "%s: %s of %s is %.2f times that of %s",
        c->overall == CHANGE_WORSE ? "regression" : "better", metrics[row->id].name, c->new->name,
        row->ratio.estimate, c->base->name);
}

bool print_terminal(const struct comparison *c, struct buf *out)
{
    print_counts(c, out);
    buf_append_char(out, '\n');
    print_rows(c, out);
    print_correctness(c, "  ", out);
    buf_append_str(out, "  ");
    print_verdict(c, out);
    return buf_append_str(out, "\n");
}

bool print_markdown(const struct comparison *c, struct buf *out)
{
    buf_append_str(out, "### ");
    print_counts(c, out);
    buf_append_str(out, "\n\n**");
    print_verdict(c, out);
    buf_printf(out, "**\n\n| median of runs | %s | %s | ratio | %.4g%% interval | p | |\n",
        c->base->name, c->new->name, 100 * c->confidence);
    buf_append_str(out, "|---|--:|--:|--:|---|--:|---|\n");
    for (size_t i = 0; i < c->row_count; i++) {
        const struct compared *row = &c->rows[i];
        buf_printf(out, "| %s | %.4g%s%s | %.4g%s%s | %.2f | %.2f to %.2f | %.2g | %s |\n",
            metrics[row->id].name, row->base, separator(row), unit(row), row->new, separator(row),
            unit(row), row->ratio.estimate, row->ratio.low, row->ratio.high, row->ratio.p,
            change_name(row->change));
    }
    buf_append_char(out, '\n');
    print_correctness(c, "- ", out);
    return buf_append_char(out, '\n');
}

// Half of what lies between the quartiles of the runs.
static double spread(const struct side *s, enum metric_id id)
{
    double *values = calloc(s->count + 1, sizeof *values);
    size_t n = 0;

    for (size_t i = 0; values && i < s->count; i++) {
        if (s->runs[i].verdict != VERDICT_INCONCLUSIVE && !isnan(s->runs[i].values[id]))
            values[n++] = s->runs[i].values[id];
    }
    // Sorts them, too.
    stats_median(values, n);
    double half = n > 0 ? (values[n - 1 - n / 4] - values[n / 4]) / 2 : 0;
    free(values);
    return half;
}

static json_t *entry(const struct comparison *c, const struct compared *row)
{
    char name[200], range[40];

    snprintf(name, sizeof name, "%s %s", c->scenario, metrics[row->id].name);
    snprintf(range, sizeof range, "± %.4g", spread(c->new, row->id));
    return json_pack(
        "{s:s, s:s, s:f, s:s}", "name", name, "unit", unit(row), "value", row->new, "range", range);
}

bool print_json(const struct comparison *list, size_t count, struct buf *out)
{
    json_t *entries = json_array();

    for (size_t i = 0; i < count; i++) {
        for (size_t k = 0; k < list[i].row_count; k++) {
            if (metrics[list[i].rows[k].id].unit != UNIT_PER_S)
                json_array_append_new(entries, entry(&list[i], &list[i].rows[k]));
        }
    }
    char *text = json_dumps(entries, JSON_INDENT(2) | JSON_REAL_PRECISION(6));
    bool ok = text && buf_append_str(out, text) && buf_append_char(out, '\n');
    free(text);
    json_decref(entries);
    return ok;
}

bool print_csv(const struct comparison *list, size_t count, struct buf *out)
{
    buf_append_str(
        out, "scenario,metric,unit,base_runs,base,new_runs,new,ratio,low,high,p,change\n");
    for (size_t i = 0; i < count; i++) {
        const struct comparison *c = &list[i];
        for (size_t k = 0; k < c->row_count; k++) {
            const struct compared *row = &c->rows[k];
            buf_printf(out, "%s,%s,%s,%zu,%.6g,%zu,%.6g,%.4f,%.4f,%.4f,%.4g,%s\n", c->scenario,
                metrics[row->id].name, unit(row), c->base_used, row->base, c->new_used, row->new,
                row->ratio.estimate, row->ratio.low, row->ratio.high, row->ratio.p,
                change_name(row->change));
        }
    }
    return !out->failed;
}
