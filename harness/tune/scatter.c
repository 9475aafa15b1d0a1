#include "tune/export.h"

#include <math.h>

#include "report/pages/axis.h"
#include "report/escape.h"
#include "scenario/units.h"

// The size of the picture and the edges of the plot, in units of the SVG.
enum { WIDTH = 720, HEIGHT = 380, LEFT = 62, RIGHT = 700, TOP = 14, BOTTOM = 330 };

// The width assumed for a letter of a label. LETTER_WIDE is for the label of the recommended pair,
// which is bold, at the larger size that it has on a telephone.
enum { LETTER = 7, LETTER_WIDE = 11 };

// The height of a label, and how far its text's baseline lies above its lower edge.
enum { LABEL_HEIGHT = 14, LABEL_DESCENT = 3 };

struct scatter {
    const struct tune *tune;
    enum metric_id metric; // the latency on the vertical axis
    struct axis x, y;
};

// A rectangle that a label, a line or a point takes, so that no label covers it. y grows downwards.
struct box {
    double left, top, right, bottom;
};

#define FRONT_STEPS 12 // number of steps into which each part of the front's line is divided

struct labels {
    // For each pair: the boxes at both ends of the steps of its part of the front, its point, and
    // its label. One more is for the name of the objective.
    struct box taken[(FRONT_STEPS + 1 + 2) * TUNE_PAIRS_MAX + 1];
    size_t count;
};

static double latency_of(const struct scatter *s, const struct tune_pair *p)
{
    return p->values[s->metric];
}

static bool is_drawn(const struct scatter *s, const struct tune_pair *p)
{
    return p->tokens_per_batch > 0 && latency_of(s, p) > 0 && isfinite(latency_of(s, p));
}

// Returns the metric of the vertical axis: the objective's, if it is a latency; otherwise the p99,
// by which pairs are compared.
static enum metric_id metric_of(const struct tune *t)
{
    const struct metric *m = t->objective ? metric_find(t->objective->metric) : NULL;

    return m && strncmp(m->name, "latency.", 8) == 0 ? m->id : METRIC_LATENCY_P99;
}

// True when the objective is an upper limit of the drawn latency. This limit is drawn as a line.
static bool has_limit(const struct scatter *s)
{
    const struct expectation *x = s->tune->objective;

    return x && metric_find(x->metric)->id == s->metric && x->comparison[0] == '<' && x->value > 0;
}

// Makes both axes wide enough for all pairs that can be drawn. Returns the number of these pairs; 0
// when an axis cannot be made.
static size_t fit_axes(struct scatter *s)
{
    const bool logarithmic = true; // a grid of pairs goes up in multiples, such as 1, 10, 100
    size_t drawn = 0;

    s->x = axis_of(LEFT, RIGHT, logarithmic);
    s->y = axis_of(BOTTOM, TOP, logarithmic);
    for (size_t i = 0; i < s->tune->count; i++) {
        const struct tune_pair *p = &s->tune->pairs[i];
        if (!is_drawn(s, p))
            continue;
        drawn++;
        axis_widen(&s->x, p->tokens_per_batch);
        axis_widen(&s->y, latency_of(s, p));
    }
    // The objective's line is drawn, too, and may lie far from all pairs.
    if (drawn > 0 && has_limit(s))
        axis_widen(&s->y, s->tune->objective->value);
    return axis_finish(&s->x) && axis_finish(&s->y) ? drawn : 0;
}

// --- the frame ---------------------------------------------------------------------------

// Draws a grid line across the plot at a value of the axis, and the value at its end. `is_y`: it is
// the vertical axis, so the grid line is horizontal.
static void put_tick(const struct axis *a, bool is_y, double value, struct buf *out)
{
    double at = axis_place(a, value);

    if (is_y)
        buf_printf(out,
            "<path class=\"grid\" d=\"M%d %.1fH%d\"/><text x=\"%d\" y=\"%.1f\" "
            "text-anchor=\"end\">%.4g</text>",
            LEFT, at, RIGHT, LEFT - 7, at + 4, value);
    else
        buf_printf(out,
            "<path class=\"grid\" d=\"M%.1f %dV%d\"/><text x=\"%.1f\" y=\"%d\" "
            "text-anchor=\"middle\">%.4g</text>",
            at, TOP, BOTTOM, at, BOTTOM + 17, value);
}

static void put_ticks(const struct axis *a, bool is_y, struct buf *out)
{
    double ticks[AXIS_TICKS_MAX];
    size_t count = axis_ticks(a, ticks);

    for (size_t i = 0; i < count; i++)
        put_tick(a, is_y, ticks[i], out);
}

// Draws the objective's upper limit as a line with its name, and shades what lies above it.
static void put_limit(const struct scatter *s, struct buf *out)
{
    if (!has_limit(s))
        return;
    double y = axis_place(&s->y, s->tune->objective->value);
    buf_printf(out,
        "<rect class=\"missed-area\" x=\"%d\" y=\"%d\" width=\"%d\" height=\"%.1f\"/>"
        "<path class=\"limit\" d=\"M%d %.1fH%d\"/><text class=\"limit-name\" x=\"%d\" y=\"%.1f\">",
        LEFT, TOP, RIGHT - LEFT, y - TOP, LEFT, y, RIGHT, LEFT + 6, y - 5);
    append_escaped(out, s->tune->objective->metric);
    buf_append_char(out, ' ');
    append_escaped(out, s->tune->objective->want);
    buf_append_str(out, "</text>");
}

// If the load exceeds the budget, marks the whole plot as missed: a budget counts mails, and every
// pair sends the same mails.
static void put_budget(const struct tune *t, struct buf *out)
{
    if (t->over_budget)
        buf_printf(out,
            "<rect class=\"missed-area\" x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\"/>"
            "<text class=\"limit-name\" x=\"%d\" y=\"%d\" text-anchor=\"end\">the load exceeds the "
            "budget, whatever the pair</text>",
            LEFT, TOP, RIGHT - LEFT, BOTTOM - TOP, RIGHT - 6, BOTTOM - 8);
}

static void put_frame(const struct scatter *s, struct buf *out)
{
    put_ticks(&s->x, false, out);
    put_ticks(&s->y, true, out);
    put_limit(s, out);
    put_budget(s->tune, out);
    buf_printf(out,
        "<text x=\"%d\" y=\"%d\" text-anchor=\"middle\">tokens a batch: fewer sends to the "
        "right</text>"
        "<text transform=\"translate(14 %d) rotate(-90)\" text-anchor=\"middle\">%s, ms</text>",
        (LEFT + RIGHT) / 2, HEIGHT - 8, (TOP + BOTTOM) / 2, metrics[s->metric].name);
}

// --- the pairs ---------------------------------------------------------------------------

// Returns the drawn pair on the front with the next larger batches than `last` (NULL: with the
// smallest); NULL: there is none.
static const struct tune_pair *next_on_front(const struct scatter *s, const struct tune_pair *last)
{
    const struct tune_pair *next = NULL;

    for (size_t i = 0; i < s->tune->count; i++) {
        const struct tune_pair *p = &s->tune->pairs[i];
        if (p->on_front && is_drawn(s, p) &&
            (!last || p->tokens_per_batch > last->tokens_per_batch) &&
            (!next || p->tokens_per_batch < next->tokens_per_batch))
            next = p;
    }
    return next;
}

// Draws a line through the pairs on the front, from small batches to large ones.
static void put_front(const struct scatter *s, struct buf *out)
{
    const struct tune_pair *p = next_on_front(s, NULL);

    if (!p)
        return;
    buf_append_str(out, "<path class=\"front\" d=\"");
    // In SVG, M moves the pen to a point, and L draws a line to it.
    for (char pen = 'M'; p; pen = 'L', p = next_on_front(s, p))
        buf_printf(out, "%c%.1f %.1f", pen, axis_place(&s->x, p->tokens_per_batch),
            axis_place(&s->y, latency_of(s, p)));
    buf_append_str(out, "\"/>");
}

// Draws a pair's confidence interval. It is known only for the metric of the objective or, without
// one, for the p99, so it is left out when the vertical axis has another metric. With fewer than
// three runs it is left out, too, because it would be far too wide.
static void put_interval(
    const struct scatter *s, const struct tune_pair *p, double x, struct buf *out)
{
    const struct expectation *objective = s->tune->objective;

    if (objective && metric_find(objective->metric)->id != s->metric)
        return;
    if (s->tune->simulated || p->judged.count < 3 || !isfinite(p->judged.high) ||
        !(p->judged.low > 0))
        return;
    // The ends are cut at the edges of the plot. y grows downwards, so BOTTOM is its largest value.
    double low = fmin(axis_place(&s->y, p->judged.low), BOTTOM);
    double high = fmax(axis_place(&s->y, p->judged.high), TOP);
    buf_printf(out, "<path class=\"interval\" d=\"M%.1f %.1fV%.1f\"/>", x, low, high);
}

// Returns the radius of a pair's dot. The recommended pair has a larger one.
static int radius_of(const struct scatter *s, const struct tune_pair *p)
{
    return p == tune_recommend(s->tune) ? 8 : 5;
}

// Draws a pair as a dot with its interval and a tooltip.
static void put_point(const struct scatter *s, const struct tune_pair *p, struct buf *out)
{
    double x = axis_place(&s->x, p->tokens_per_batch), y = axis_place(&s->y, latency_of(s, p));
    bool pick = p == tune_recommend(s->tune);

    put_interval(s, p, x, out);
    buf_printf(out, "<circle class=\"%s\" cx=\"%.1f\" cy=\"%.1f\" r=\"%d\"><title>",
        p->broken  ? "broken"
        : pick     ? "pick"
        : p->meets ? "meets"
                   : "misses",
        x, y, radius_of(s, p));
    tune_print_name(p, out);
    buf_printf(out, ": %.1f tokens a batch, %s %.4g ms; %s</title></circle>", p->tokens_per_batch,
        metrics[s->metric].name, latency_of(s, p),
        s->tune->simulated ? "simulated" : tune_remark(s->tune, p));
}

// True when the box covers no other box and lies within the plot. It may reach 10 units of the SVG
// beyond the upper edge, because nothing is drawn there.
static bool is_free(const struct labels *l, const struct box *b)
{
    for (size_t i = 0; i < l->count; i++) {
        const struct box *other = &l->taken[i];
        if (b->left < other->right && b->right > other->left && b->top < other->bottom &&
            b->bottom > other->top)
            return false;
    }
    return b->left >= LEFT && b->right <= RIGHT && b->top >= TOP - 10 && b->bottom <= BOTTOM;
}

// Puts a pair's label beside its point; `letter` is the width assumed for a letter. False when
// there is no room; then only the point's tooltip names the pair.
static bool put_label(const struct scatter *s, const struct tune_pair *p, int letter,
    struct labels *l, struct buf *out)
{
    bool pick = p == tune_recommend(s->tune);
    double x = axis_place(&s->x, p->tokens_per_batch), y = axis_place(&s->y, latency_of(s, p));
    struct buf name FREED_BY(buf_fini) = BUF_INIT(200);

    buf_printf(&name, "%s%d, ", pick ? "take " : "", p->limit);
    units_print_duration(&name, p->timeout_ns);
    double width = (double)name.len * letter, gap = pick ? 12 : 8;
    const double above = y - gap - LABEL_HEIGHT, below = y + gap;
    const double beside = y - LABEL_HEIGHT / 2.0;
    // Eight places around the point, the best first: right, left, then above and below. On a
    // telephone the letters may be larger than assumed here, so the text is anchored to grow away
    // from the point.
    const struct {
        double left, top, anchor_x;
        const char *anchor;
    } places[] = {{x + gap, beside, x + gap, "start"}, {x - gap - width, beside, x - gap, "end"},
        {x - gap - width, above, x - gap, "end"}, {x + gap, above, x + gap, "start"},
        {x - gap - width, below, x - gap, "end"}, {x + gap, below, x + gap, "start"},
        {x - width / 2, above, x, "middle"}, {x - width / 2, below, x, "middle"}};
    for (size_t i = 0; buf_str(&name) && i < sizeof places / sizeof *places; i++) {
        double left = places[i].left, top = places[i].top;
        struct box b = {left, top, left + width, top + LABEL_HEIGHT};
        if (!is_free(l, &b))
            continue;
        l->taken[l->count++] = b;
        buf_printf(out, "<text class=\"%s\" x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\">%s</text>",
            pick ? "pick-name" : "name", places[i].anchor_x, b.bottom - LABEL_DESCENT,
            places[i].anchor, name.data);
        return true;
    }
    return false;
}

// Keeps labels off a straight line by small boxes along it.
static void avoid_line(struct labels *l, double x1, double y1, double x2, double y2)
{
    for (int i = 0; i <= FRONT_STEPS; i++) {
        double share = (double)i / FRONT_STEPS, x = x1 + share * (x2 - x1),
               y = y1 + share * (y2 - y1);
        l->taken[l->count++] = (struct box){x - 1, y - 1, x + 1, y + 1};
    }
}

static void avoid_front(const struct scatter *s, struct labels *l)
{
    const struct tune_pair *p = next_on_front(s, NULL), *next;

    for (; p && (next = next_on_front(s, p)); p = next)
        avoid_line(l, axis_place(&s->x, p->tokens_per_batch), axis_place(&s->y, latency_of(s, p)),
            axis_place(&s->x, next->tokens_per_batch), axis_place(&s->y, latency_of(s, next)));
}

// Keeps labels off all that is drawn: the front, the objective's name and the points.
static void avoid_drawn(const struct scatter *s, struct labels *l)
{
    avoid_front(s, l);
    if (has_limit(s)) {
        double y = axis_place(&s->y, s->tune->objective->value);
        // The name stands above the line (put_limit); 160 is about as wide as names are.
        l->taken[l->count++] = (struct box){LEFT, y - 17, LEFT + 160, y};
    }
    for (size_t i = 0; i < s->tune->count; i++) {
        const struct tune_pair *p = &s->tune->pairs[i];
        double x = axis_place(&s->x, p->tokens_per_batch), y = axis_place(&s->y, latency_of(s, p));
        int r = radius_of(s, p);
        if (is_drawn(s, p))
            l->taken[l->count++] = (struct box){x - r, y - r, x + r, y + r};
    }
}

// Labels the recommended pair first, then the others on the front.
static void put_labels(const struct scatter *s, struct buf *out)
{
    struct labels labels = {0};
    const struct tune_pair *pick = tune_recommend(s->tune);

    // No label may cover what is drawn already. The label of the recommended pair is the most
    // important one, so it gets its place first, and is tried with narrow letters as well.
    avoid_drawn(s, &labels);
    if (pick && is_drawn(s, pick) && !put_label(s, pick, LETTER_WIDE, &labels, out))
        (void)put_label(s, pick, LETTER, &labels, out);
    for (size_t i = 0; i < s->tune->count; i++) {
        const struct tune_pair *p = &s->tune->pairs[i];
        if (p != pick && p->on_front && is_drawn(s, p))
            (void)put_label(s, p, LETTER, &labels, out);
    }
}

// Appends the legend. It explains hollow and dashed dots only if there are any.
static void put_scatter_key(const struct scatter *s, struct buf *out)
{
    const struct tune_pair *pick = tune_recommend(s->tune);
    bool misses = false, broken = false;

    for (size_t i = 0; i < s->tune->count; i++) {
        const struct tune_pair *p = &s->tune->pairs[i];
        misses = misses || (is_drawn(s, p) && !p->broken && p != pick && !p->meets);
        broken = broken || (is_drawn(s, p) && p->broken);
    }
    buf_printf(out,
        "<p class=\"hint\">A dot is a pair of limit and timeout; the line is the Pareto "
        "front.%s%s</p>\n",
        misses ? " A hollow one misses the objective." : "",
        broken ? " A dashed one broke an invariant." : "");
}

void scatter_print(const struct tune *t, struct buf *out)
{
    struct scatter s = {.tune = t, .metric = metric_of(t)};

    // A picture of a single point would show nothing.
    if (fit_axes(&s) < 2)
        return;
    buf_printf(out,
        "<svg id=\"scatter\" viewBox=\"0 0 %d %d\" role=\"img\" aria-label=\"Tokens a batch and %s "
        "of each pair; the table has the figures\">",
        WIDTH, HEIGHT, metrics[s.metric].name);
    put_frame(&s, out);
    put_front(&s, out);
    for (size_t i = 0; i < t->count; i++) {
        if (is_drawn(&s, &t->pairs[i]))
            put_point(&s, &t->pairs[i], out);
    }
    put_labels(&s, out);
    buf_append_str(out, "</svg>\n");
    put_scatter_key(&s, out);
}
