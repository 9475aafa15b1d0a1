// Makes tune.html: one file without scripts. Wherever a colour rates a figure, the figure stands
// there, too.
#include <math.h>

#include "report/escape.h"
#include "report/pages/template.h"
#include "scenario/units.h"
#include "tune/export.h"
#include "tune/pair_figures.h"
#include "tune_page.h"

static void print_title(const struct tune *t, struct buf *out)
{
    buf_append_str(out, "Batch limit and timeout for ");
    append_escaped(out, t->scenario);
}

// Appends what `print` prints, escaped for HTML.
static void print_escaped(
    const struct tune *t, bool (*print)(const struct tune *t, struct buf *out), struct buf *out)
{
    struct buf text FREED_BY(buf_fini) = BUF_INIT(1 << 16);

    if (print(t, &text) && buf_str(&text))
        append_escaped(out, text.data);
}

static void print_recommendation(const struct tune *t, struct buf *out)
{
    print_escaped(t, tune_print_recommendation, out);
}

// Says where the figures come from: how many runs, or the model.
static void print_how(const struct tune *t, struct buf *out)
{
    size_t runs = 0, inconclusive = 0;

    for (size_t i = 0; i < t->count; i++) {
        runs += t->pairs[i].runs;
        inconclusive += t->pairs[i].inconclusive;
    }
    if (t->simulated) {
        buf_append_str(out, "Simulated with a model of the batch window; nothing was run.");
        return;
    }
    buf_printf(out, "%zu %s in shuffled order", runs, NOUN(runs, "run", "runs"));
    if (inconclusive > 0)
        buf_printf(out, ", %zu of them inconclusive and left out", inconclusive);
    buf_append_str(out, "; each figure is the median of a pair's runs. ");
    print_escaped(t, tune_print_model, out);
}

// --- heat maps ------------------------------------------------------------------------

// Appends the sign behind a figure. A pair that is not on the front gets an empty one, so that all
// figures stay aligned.
static void print_sign(const struct tune *t, const struct tune_pair *p, struct buf *out)
{
    bool pick = p == tune_recommend(t);

    if (pick || p->on_front)
        buf_printf(out, "<span class=\"sign\" role=\"img\" aria-label=\"%s\">%s</span>",
            pick ? "take this" : "on the front", pick ? "★" : "●");
    else
        buf_append_str(out, "<span class=\"sign\"></span>");
}

// Appends a cell of a heat map. Its colour is a mixture of the scale's middle colour and the colour
// of one end; the style's variable --share is the share of the end.
static void append_cell(
    const struct tune *t, const struct tune_pair *p, enum tune_figure figure, struct buf *out)
{
    double heat = figure_heat(t, p, figure);
    const char *pick = p == tune_recommend(t) ? " pick" : "";

    if (isnan(heat))
        buf_printf(out, "<td class=\"none%s\">", pick);
    else
        buf_printf(out, "<td class=\"%s%s\" style=\"--share:%.0f%%\">", heat < 0.5 ? "cold" : "hot",
            pick, 200 * fabs(heat - 0.5));
    figure_print_short(p, figure, "–", out);
    print_sign(t, p, out);
    buf_append_str(out, "</td>");
}

// Appends the heat map of a figure: a row for each limit, a column for each timeout. A pair that
// the grid does not have gets an empty cell.
static void append_map(const struct tune *t, enum tune_figure figure, struct buf *out)
{
    const struct figure_axes a = figure_axes(t);

    buf_printf(out,
        "<div class=\"box\"><table class=\"map\" data-figure=\"%s\"><caption>%s<span "
        "class=\"help\">",
        figure_texts[figure].key, figure_texts[figure].title);
    append_escaped(out, figure_texts[figure].help);
    buf_append_str(out, "</span></caption><tr><th scope=\"col\">limit</th>");
    for (size_t c = 0; c < a.columns; c++) {
        buf_append_str(out, "<th scope=\"col\">");
        units_print_duration(out, a.timeouts_ns[c]);
        buf_append_str(out, "</th>");
    }
    for (size_t r = 0; r < a.rows; r++) {
        buf_printf(out, "</tr>\n<tr><th scope=\"row\">%d</th>", a.limits[r]);
        for (size_t c = 0; c < a.columns; c++) {
            const struct tune_pair *p = figure_pair_at(t, a.limits[r], a.timeouts_ns[c]);
            if (p)
                append_cell(t, p, figure, out);
            else
                buf_append_str(out, "<td></td>");
        }
    }
    buf_append_str(out, "</tr></table></div>\n");
}

static bool is_any_measured(const struct tune *t, enum tune_figure figure)
{
    for (size_t i = 0; i < t->count; i++) {
        if (!isnan(figure_of(&t->pairs[i], figure)))
            return true;
    }
    return false;
}

// The page's style needs to know how many columns the heat maps have.
static void print_columns(const struct tune *t, struct buf *out)
{
    buf_printf(out, "%zu", figure_axes(t).columns);
}

// Appends the heat maps of all figures that were measured for some pair, the most important first.
static void print_maps(const struct tune *t, struct buf *out)
{
    static const enum tune_figure order[] = {FIGURE_P99, FIGURE_TOKENS, FIGURE_P50,
        FIGURE_ROUND_TRIPS, FIGURE_WAL, FIGURE_BACKEND_CPU, FIGURE_COLLECTOR_CPU};

    for (size_t i = 0; i < sizeof order / sizeof *order; i++) {
        if (is_any_measured(t, order[i]))
            append_map(t, order[i], out);
    }
}

// --- the table ------------------------------------------------------------------------

static void print_row(const struct tune *t, const struct tune_pair *p, struct buf *out)
{
    buf_printf(out, "<tr><th scope=\"row\">%d</th><td>", p->limit);
    units_print_duration(out, p->timeout_ns);
    buf_append_str(out, "</td>");
    for (enum tune_figure f = 0; f < FIGURE_SHOWN; f++) {
        buf_append_str(out, "<td>");
        figure_print(p, f, "–", out);
        buf_append_str(out, "</td>");
    }
    buf_append_str(out, "<td>");
    precision_print(&p->judged, "–", out);
    buf_printf(out, "</td><td>%zu</td><td>", p->runs - p->inconclusive);
    append_escaped(out, tune_remark(t, p));
    buf_append_str(out, "</td></tr>\n");
}

static void print_rows(const struct tune *t, struct buf *out)
{
    buf_append_str(out, "<table><caption>95% within: the precision of ");
    append_escaped(out, t->objective ? t->objective->metric : "latency.p99");
    buf_append_str(out,
        ", for pairs with three runs or more</caption><thead><tr><th scope=\"col\">limit</th><th "
        "scope=\"col\">timeout</th>");
    for (enum tune_figure f = 0; f < FIGURE_SHOWN; f++)
        buf_printf(out, "<th scope=\"col\">%s</th>", figure_texts[f].title);
    buf_append_str(out, "<th scope=\"col\">95% within</th><th scope=\"col\">runs</th><th "
                        "scope=\"col\">verdict</th></tr></thead><tbody>\n");
    for (size_t i = 0; i < t->count; i++)
        print_row(t, &t->pairs[i], out);
    buf_append_str(out, "</tbody></table>");
}

static void print_style(const struct tune *t, struct buf *out)
{
    (void)t;
    buf_append_str(out, tune_page_style);
}

bool export_html(const struct tune *t, struct buf *out)
{
    static const char *const marks[] = {"title", "tune-style", "recommendation", "how", "scatter",
        "columns", "maps", "table", NULL};
    static void (*const prints[])(const struct tune *t, struct buf *out) = {print_title,
        print_style, print_recommendation, print_how, scatter_print, print_columns, print_maps,
        print_rows};
    const char *rest = tune_page_page;

    // The part of the page at marks[i] is written by prints[i].
    for (int mark; (mark = template_next(out, &rest, marks)) != TEMPLATE_END;)
        prints[mark](t, out);
    return buf_str(out);
}
