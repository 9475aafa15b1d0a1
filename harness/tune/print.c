#include "tune/export.h"

#include <math.h>

#include "scenario/units.h"
#include "tune/pair_figures.h"

#define WIDTH 9

// Appends blanks until the text that begins at `start` is `width` bytes long.
static void pad(struct buf *out, size_t start, size_t width)
{
    while (out->len - start < width)
        buf_append_char(out, ' ');
}

static void print_figure(const struct tune_pair *p, enum tune_figure figure, struct buf *out)
{
    struct buf text FREED_BY(buf_fini) = BUF_INIT(64);

    figure_print(p, figure, "-", &text);
    if (buf_str(&text))
        buf_printf(out, "%*s", WIDTH, text.data);
}

// Prints the precision of the objective's metric, or of latency.p99 without an objective, and the
// number of conclusive runs.
static void print_margin(const struct tune *t, const struct tune_pair *p, struct buf *out)
{
    if (t->simulated)
        return;
    buf_append_str(out, "  ");
    size_t start = out->len;
    precision_print(&p->judged, "-", out);
    // The sign ± is one column wide but two bytes long.
    bool sign = out->len > start && memchr(out->data + start, '\xc2', out->len - start);
    pad(out, start, sign ? 14 : 13);
    buf_printf(out, "%5zu", p->runs - p->inconclusive);
}

static void print_head(const struct tune *t, struct buf *out)
{
    buf_append_str(out, "                ");
    // The headings take two rows, because the names are wider than the figures.
    for (enum tune_figure f = 0; f < FIGURE_SHOWN; f++)
        buf_printf(out, "%*s", WIDTH, figure_texts[f].above);
    buf_append_str(out, t->simulated ? "\n  limit  timeout" : "  95%\n  limit  timeout");
    for (enum tune_figure f = 0; f < FIGURE_SHOWN; f++)
        buf_printf(out, "%*s", WIDTH, figure_texts[f].below);
    buf_append_str(out, t->simulated ? "\n" : "  within         runs\n");
}

// Returns the mark of a pair: two stars for the recommended one, one for the others on the front.
static const char *stars(const struct tune *t, const struct tune_pair *p)
{
    return p == tune_recommend(t) ? "** " : p->on_front ? "*  " : "   ";
}

bool print_table(const struct tune *t, struct buf *out)
{
    print_head(t, out);
    for (size_t i = 0; i < t->count; i++) {
        const struct tune_pair *p = &t->pairs[i];
        const char *remark = tune_remark(t, p);
        buf_printf(out, "  %5d  ", p->limit);
        size_t start = out->len;
        units_print_duration(out, p->timeout_ns);
        pad(out, start, 7);
        for (enum tune_figure f = 0; f < FIGURE_SHOWN; f++)
            print_figure(p, f, out);
        print_margin(t, p, out);
        // The star says already that a pair is on the front.
        buf_printf(out, "  %s%s\n", stars(t, p), strcmp(remark, "on the front") == 0 ? "" : remark);
    }
    buf_append_str(out, "  * no other pair is better in batches or p99 and no worse in the other");
    // Simulated figures do not vary from run to run, so they have no precision.
    if (!t->simulated)
        buf_printf(out, "; ± is the precision of %s, runs are the conclusive ones",
            t->objective ? t->objective->metric : "latency.p99");
    return buf_append_str(out, "\n");
}

// --- heat maps ------------------------------------------------------------------------

// Some of the terminal's 256 colours, from green over olive, yellow and orange to red. They are
// dark enough for white text.
static const int ramp[] = {22, 28, 64, 100, 136, 130, 124, 88};

// Prints a cell of a heat map; p NULL: the grid has no such pair, and the cell stays empty.
static void print_cell(const struct tune *t, const struct tune_pair *p, enum tune_figure figure,
    bool colours, struct buf *out)
{
    const int steps = sizeof ramp / sizeof *ramp;
    double heat = p ? figure_heat(t, p, figure) : NAN;

    // 38 sets the text to colour 231, which is white, and 48 the background, to the nearest step.
    if (colours && !isnan(heat))
        buf_printf(out, "\033[38;5;231;48;5;%dm", ramp[(int)(heat * (steps - 1) + 0.5)]);
    if (p)
        print_figure(p, figure, out);
    else
        buf_printf(out, "%*s", WIDTH, "");
    buf_append_str(out, p ? stars(t, p) : "   ");
    if (colours && !isnan(heat))
        buf_append_str(out, "\033[0m");
}

// Prints one figure of all pairs: a row for each limit, a column for each timeout.
static void print_map(const struct tune *t, enum tune_figure figure, bool colours, struct buf *out)
{
    const struct figure_axes a = figure_axes(t);

    buf_printf(out, "  %s\n  limit  ", figure_texts[figure].title);
    for (size_t c = 0; c < a.columns; c++) {
        struct buf text FREED_BY(buf_fini) = BUF_INIT(64);
        units_print_duration(&text, a.timeouts_ns[c]);
        if (buf_str(&text))
            buf_printf(out, "%*s   ", WIDTH, text.data);
    }
    for (size_t r = 0; r < a.rows; r++) {
        buf_printf(out, "\n  %5d  ", a.limits[r]);
        for (size_t c = 0; c < a.columns; c++)
            print_cell(t, figure_pair_at(t, a.limits[r], a.timeouts_ns[c]), figure, colours, out);
    }
    buf_append_char(out, '\n');
}

bool print_heat_maps(const struct tune *t, bool colours, struct buf *out)
{
    buf_append_char(out, '\n');
    print_map(t, FIGURE_P99, colours, out);
    buf_append_char(out, '\n');
    print_map(t, FIGURE_TOKENS, colours, out);
    return buf_append_char(out, '\n');
}
