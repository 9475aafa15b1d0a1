#include "compare/compare.h"

#include <math.h>

#include "compare_html.h"
#include "report/pages/axis.h"
#include "report/escape.h"
#include "report/pages/template.h"

// Sizes in the pictures' own units: width, ends of the axis, heights of a row and of what stands
// below the ratios. The width is small, because on a telephone the pictures shrink to two thirds,
// and their letters must stay legible.
enum { WIDTH = 540, LEFT = 150, RIGHT = 520, ROW = 26, AXIS = 44 };

static const char *css_class_of(enum change change)
{
    static const char *const names[] = {
        [CHANGE_NONE] = "none",
        [CHANGE_BETTER] = "better",
        [CHANGE_WORSE] = "worse",
        [CHANGE_UNKNOWN] = "unknown",
    };

    return names[change];
}

// --- the ratios ---------------------------------------------------------------------------

// A logarithmic scale of ratios from 1 / most to most, with 1 in its middle.
struct scale {
    double most;
};

// Returns how far a ratio lies from 1, on either side, as a logarithm. 0 and infinity, which no
// scale could hold, count as 1.
static double ratio_width(double ratio)
{
    return ratio > 0 && isfinite(ratio) ? fabs(log(ratio)) : 0;
}

// Chooses a scale on which all intervals and the margin fit.
static struct scale scale_of(const struct comparison *c)
{
    // `most` is a logarithm here. The margin is always in the picture, and half as much beside it,
    // so that intervals within the margin look small.
    double most = log1p(c->margin) * 1.5;

    for (size_t i = 0; i < c->row_count; i++) {
        most = fmax(most, ratio_width(c->rows[i].ratio.low));
        most = fmax(most, ratio_width(c->rows[i].ratio.high));
        most = fmax(most, ratio_width(c->rows[i].ratio.estimate));
    }
    // 1.05 leaves a little room at the edges. The scale ends at 16; ratios beyond it are drawn at
    // its edge.
    return (struct scale){fmin(exp(most * 1.05), 16)};
}

// Returns where a ratio lies; 0 and infinity lie at the edges.
static double ratio_x(struct scale s, double ratio)
{
    double at = ratio > 0 ? log(ratio) / log(s.most) : -1;

    at = fmin(fmax(at, -1), 1);
    return LEFT + (at + 1) / 2 * (RIGHT - LEFT);
}

// Draws a line at ratio 1, and ticks in pairs: a ratio to the right and its inverse to the left.
static void put_ratio_ticks(const struct comparison *c, struct scale s, struct buf *out)
{
    static const double tick_ratios[] = {1.02, 1.05, 1.1, 1.2, 1.5, 2, 4, 8, 16};
    const int bottom = ROW * (int)c->row_count + 4;
    double last = 0;

    buf_printf(out,
        "<path class=\"one\" d=\"M%.1f 0V%d\"/><text x=\"%.1f\" y=\"%d\" "
        "text-anchor=\"middle\">1</text>",
        ratio_x(s, 1), bottom, ratio_x(s, 1), bottom + 15);
    // A tick is drawn only if there is room for its number.
    for (size_t i = 0; i < sizeof tick_ratios / sizeof *tick_ratios; i++) {
        double right = ratio_x(s, tick_ratios[i]) - ratio_x(s, 1);
        if (tick_ratios[i] > s.most || right - last < 48)
            continue;
        last = right;
        // A ratio and its inverse are equally far from 1.
        for (int side = 0; side < 2; side++) {
            double ratio = side ? tick_ratios[i] : 1 / tick_ratios[i];
            buf_printf(out,
                "<path class=\"grid\" d=\"M%.1f 0V%d\"/><text x=\"%.1f\" y=\"%d\" "
                "text-anchor=\"middle\">%.3g</text>",
                ratio_x(s, ratio), bottom, ratio_x(s, ratio), bottom + 15, ratio);
        }
    }
    buf_printf(out, "<text x=\"%d\" y=\"%d\" text-anchor=\"middle\">times ", (LEFT + RIGHT) / 2,
        bottom + 34);
    append_escaped(out, c->base->name);
    buf_append_str(out, ", logarithmic scale</text>");
}

static void put_ratio_row(const struct compared *row, struct scale s, double y, struct buf *out)
{
    double low = ratio_x(s, row->ratio.low), high = ratio_x(s, row->ratio.high);

    buf_printf(out,
        "<g class=\"%s\"><text class=\"name\" x=\"%d\" y=\"%.1f\" text-anchor=\"end\">%s</text>"
        "<path class=\"mark\" stroke-width=\"2\" d=\"M%.1f %.1fH%.1f\"/>",
        css_class_of(row->change), LEFT - 10, y + 4, metrics[row->id].name, low, y, high);
    // An estimate of 0 or infinity has no place of its own, so only the interval's line is drawn.
    if (row->ratio.estimate > 0 && isfinite(row->ratio.estimate))
        buf_printf(out, "<circle class=\"mark\" cx=\"%.1f\" cy=\"%.1f\" r=\"4.5\"/>",
            ratio_x(s, row->ratio.estimate), y);
    buf_append_str(out, "</g>");
}

static void put_ratios(const struct comparison *c, struct buf *out)
{
    const int rows = ROW * (int)c->row_count;
    // The scale is logarithmic, so that half and double lie equally far from 1, where nothing
    // differs.
    struct scale s = scale_of(c);

    if (c->row_count == 0)
        return;
    buf_printf(out,
        "<svg viewBox=\"0 0 %d %d\" role=\"img\" aria-label=\"Ratios with their "
        "intervals; the figures are in the table\"><rect class=\"margin\" x=\"%.1f\" y=\"0\" "
        "width=\"%.1f\" "
        "height=\"%d\"/>",
        WIDTH, rows + AXIS, ratio_x(s, 1 / (1 + c->margin)),
        ratio_x(s, 1 + c->margin) - ratio_x(s, 1 / (1 + c->margin)), rows + 4);
    put_ratio_ticks(c, s, out);
    for (size_t i = 0; i < c->row_count; i++)
        put_ratio_row(&c->rows[i], s, ROW * ((double)i + 0.5), out);
    buf_append_str(out, "</svg>\n");
}

// --- each run -----------------------------------------------------------------------------

// Draws a row with the name of a side and a dot for each run in which the metric was measured.
static void put_dots(const struct side *s, enum metric_id id, const struct axis *x, double y,
    const char *class, struct buf *out)
{
    buf_printf(out, "<g class=\"%s\"><text class=\"name\" x=\"%d\" y=\"%.1f\" text-anchor=\"end\">",
        class, LEFT - 10, y + 4);
    append_escaped(out, s->name);
    buf_append_str(out, "</text>");
    for (size_t i = 0; i < s->count; i++) {
        double value = s->runs[i].values[id];
        // An inconclusive run may still have measured something. It is drawn hollow, and counts as
        // the worst in the test.
        bool conclusive = s->runs[i].verdict != VERDICT_INCONCLUSIVE;
        if (!isfinite(value))
            continue;
        buf_printf(out,
            "<circle class=\"mark%s\" fill-opacity=\"0.5\" cx=\"%.1f\" cy=\"%.1f\" r=\"4.5\">"
            "<title>%s %.4g %s</title></circle>",
            conclusive ? "" : " hollow", axis_place(x, value), y, verdict_name(s->runs[i].verdict),
            value, metric_unit_name(metrics[id].unit));
    }
    buf_append_str(out, "</g>");
}

static void widen_axis(struct axis *x, const struct side *s, enum metric_id id)
{
    for (size_t i = 0; i < s->count; i++)
        axis_widen(x, s->runs[i].values[id]);
}

// Appends a picture of a metric: its axis, and below each other the dots of both sides. Appends
// nothing when no run has a value that can be drawn.
static void put_runs(const struct comparison *c, const struct compared *row, struct buf *out)
{
    const char *unit = metric_unit_name(metrics[row->id].unit);
    const bool logarithmic = false; // the runs of one metric differ little
    struct axis x = axis_of(LEFT, RIGHT, logarithmic);
    double ticks[AXIS_TICKS_MAX];

    // The axis begins at the lowest value. If it began at zero, the dots of both sides would lie on
    // top of each other at the right edge.
    widen_axis(&x, c->base, row->id);
    widen_axis(&x, c->new, row->id);
    if (!axis_finish(&x))
        return;
    buf_printf(out,
        "<figure><figcaption class=\"hint\">%s%s%s, each run</figcaption>"
        "<svg viewBox=\"0 0 %d %d\" role=\"img\" aria-label=\"%s of each run\">",
        metrics[row->id].name, *unit ? " in " : "", unit, WIDTH, 2 * ROW + 24,
        metrics[row->id].name);
    size_t count = axis_ticks(&x, ticks);
    for (size_t i = 0; i < count; i++) {
        double at = axis_place(&x, ticks[i]);
        buf_printf(out,
            "<path class=\"grid\" d=\"M%.1f 0V%d\"/><text x=\"%.1f\" y=\"%d\" "
            "text-anchor=\"middle\">%.6g</text>",
            at, 2 * ROW + 4, at, 2 * ROW + 19, ticks[i]);
    }
    put_dots(c->base, row->id, &x, ROW * 0.5, "none", out);
    put_dots(c->new, row->id, &x, ROW * 1.5, css_class_of(row->change), out);
    buf_append_str(out, "</svg></figure>\n");
}

// --- the page with table, verdict and pictures --------------------------------------------

static void put_text_cell(const char *text, struct buf *out)
{
    buf_append_str(out, "<td class=\"n\">");
    append_escaped(out, text);
    buf_append_str(out, "</td>");
}

static void put_table(const struct comparison *c, struct buf *out)
{
    if (c->row_count == 0)
        return;
    buf_append_str(out, "<div class=\"wide\"><table><tr><th scope=\"col\">median of runs</th><th "
                        "scope=\"col\"></th>"
                        "<th scope=\"col\" class=\"n\">");
    append_escaped(out, c->base->name);
    buf_append_str(out, "</th><th scope=\"col\" class=\"n\">");
    append_escaped(out, c->new->name);
    buf_printf(out,
        "</th><th scope=\"col\" class=\"n\">ratio</th><th scope=\"col\" class=\"n\">%.4g%% "
        "interval</th><th scope=\"col\" class=\"n\">p</th></tr>\n",
        100 * c->confidence);
    for (size_t i = 0; i < c->row_count; i++) {
        const struct compared *row = &c->rows[i];
        struct print_cells cells;
        print_cells(row, &cells);
        buf_printf(out, "<tr><td>%s</td><td class=\"%s\">%s</td>", metrics[row->id].name,
            css_class_of(row->change), change_name(row->change));
        put_text_cell(cells.base, out);
        put_text_cell(cells.new, out);
        put_text_cell(cells.ratio, out);
        put_text_cell(cells.interval, out);
        put_text_cell(cells.p, out);
        buf_append_str(out, "</tr>\n");
    }
    buf_append_str(out, "</table></div>\n");
}

// Appends a text that compare_print.c makes, escaped, because it may hold the name of a folder or a
// command.
static void put_picture_text(const struct comparison *c,
    void (*print)(const struct comparison *c, struct buf *out), struct buf *out)
{
    struct buf text FREED_BY(buf_fini) = BUF_INIT(1 << 20);

    print(c, &text);
    append_escaped(out, buf_str(&text) ? text.data : "");
}

// Puts the program and the changed options of a side's first run, which stands for the others.
static void put_side_program(const struct side *s, struct buf *out)
{
    if (s->count == 0 || (!s->runs[0].program[0] && !s->runs[0].changed[0]))
        return;
    buf_append_str(out, "<li>");
    append_escaped(out, s->name);
    buf_append_str(out, ": <code>");
    append_escaped(out, s->runs[0].program);
    buf_append_str(out, s->runs[0].program[0] && s->runs[0].changed[0] ? "; " : "");
    append_escaped(out, s->runs[0].changed);
    buf_append_str(out, "</code></li>");
}

static void put_correctness(const struct comparison *c, const char *class, struct buf *out)
{
    buf_printf(out, "<pre class=\"%s\">", class);
    put_picture_text(c, print_correctness, out);
    buf_append_str(out, "</pre>\n");
}

static void put_section(const struct comparison *c, struct buf *out)
{
    bool failed = c->base_failed.any + c->new_failed.any > 0;

    buf_append_str(out, "<section><h2>");
    put_picture_text(c, print_compared_counts, out);
    buf_append_str(out, "</h2>\n");
    // Failures come first, also when too few runs failed to tell the sides apart.
    if (failed)
        put_correctness(c, css_class_of(CHANGE_WORSE), out);
    buf_printf(out, "<p class=\"change %s\">", css_class_of(c->overall));
    // The same sentences as on the terminal, from the same functions.
    put_picture_text(c, print_comparison_verdict, out);
    buf_append_str(out, "</p>\n<ul>");
    put_side_program(c->base, out);
    put_side_program(c->new, out);
    buf_append_str(out, "</ul>\n");
    if (!failed)
        put_correctness(c, "", out);
    buf_append_str(out, "<div class=\"pictures\">");
    curves_print(c, out);
    put_ratios(c, out);
    buf_append_str(out, "</div>\n");
    put_table(c, out);
    buf_append_str(out, "<div class=\"pictures\">");
    for (size_t i = 0; i < c->row_count; i++)
        put_runs(c, &c->rows[i], out);
    buf_append_str(out, "</div>\n");
    buf_append_str(out, "</section>\n");
}

bool picture_html(const struct comparison *list, size_t count, struct buf *out)
{
    static const char *const marks[] = {"sections", NULL};
    const char *rest = compare_html_page;

    while (template_next(out, &rest, marks) != TEMPLATE_END) {
        for (size_t i = 0; i < count; i++)
            put_section(&list[i], out);
    }
    return buf_str(out);
}
