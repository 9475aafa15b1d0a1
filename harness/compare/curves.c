#include "compare/compare.h"

#include <math.h>

#include "measure/stats.h"
#include "report/pages/axis.h"
#include "report/escape.h"

// The sizes of the picture, in its own units.
enum { WIDTH = 540, HEIGHT = 300, LEFT = 56, RIGHT = 500, TOP = 26, BOTTOM = 252 };

#define RUNS_MAX STATS_VALUES_MAX // compare_sides takes no more runs

// The percentiles of latency that each result holds. Latency is counted from the intended insert
// or, in a closed loop, from the commit.
static const struct percentile {
    enum metric_id intended, commit;
    const char *name;
    double nines; // -log10(1 - percentile): 90% is one nine, 99% are two
} percentiles[] = {
    {METRIC_LATENCY_P50, METRIC_COMMIT_LATENCY_P50, "p50", 0.301},
    {METRIC_LATENCY_P90, METRIC_COMMIT_LATENCY_P90, "p90", 1},
    {METRIC_LATENCY_P99, METRIC_COMMIT_LATENCY_P99, "p99", 2},
    {METRIC_LATENCY_P999, METRIC_COMMIT_LATENCY_P999, "p99.9", 3},
};

#define PERCENTILES (sizeof percentiles / sizeof *percentiles)

struct point {
    double low, median, high; // over the side's runs; NAN: not measured
};

struct curve {
    const struct side *side;
    struct point points[PERCENTILES];
};

// Returns the latency in ms, from the intended insert if the run has that.
static double percentile_value(const struct stored *run, const struct percentile *p)
{
    double intended = run->values[p->intended];

    return isnan(intended) ? run->values[p->commit] : intended;
}

// Returns the lowest, median and highest value of a percentile over the side's conclusive runs.
static struct point point_of(const struct side *s, const struct percentile *p)
{
    double values[RUNS_MAX];
    size_t n = 0;

    for (size_t i = 0; i < s->count && n < RUNS_MAX; i++) {
        double value = percentile_value(&s->runs[i], p);
        // A logarithmic axis has no place for zero.
        if (s->runs[i].verdict != VERDICT_INCONCLUSIVE && isfinite(value) && value > 0)
            values[n++] = value;
    }
    if (n == 0)
        return (struct point){NAN, NAN, NAN};
    double median = stats_median(values, n);
    // stats_median has sorted the values.
    return (struct point){values[0], median, values[n - 1]};
}

// Computes the curve of a side. False when a percentile was measured in no run.
static bool curve_make(struct curve *c, const struct side *side)
{
    c->side = side;
    for (size_t i = 0; i < PERCENTILES; i++) {
        c->points[i] = point_of(side, &percentiles[i]);
        if (isnan(c->points[i].median))
            return false;
    }
    return true;
}

// --- the picture -------------------------------------------------------------------------

// Returns the horizontal place of percentile number i. 14 units on the left stay free, so that the
// first mark does not cover the end of the axis.
static double percentile_x(size_t i)
{
    double first = percentiles[0].nines, last = percentiles[PERCENTILES - 1].nines;

    return LEFT + 14 + (percentiles[i].nines - first) / (last - first) * (RIGHT - LEFT - 14);
}

static void put_curve_frame(const struct axis *y, struct buf *out)
{
    double ticks[AXIS_TICKS_MAX];
    size_t count = axis_ticks(y, ticks);

    for (size_t i = 0; i < count; i++) {
        double at = axis_place(y, ticks[i]);
        buf_printf(out,
            "<path class=\"grid\" d=\"M%d %.1fH%d\"/><text x=\"%d\" y=\"%.1f\" "
            "text-anchor=\"end\">%.4g</text>",
            LEFT, at, RIGHT, LEFT - 7, at + 4, ticks[i]);
    }
    // Percentiles stand by their number of nines. On a linear scale the highest ones, which matter,
    // would share a pixel.
    for (size_t i = 0; i < PERCENTILES; i++)
        buf_printf(out, "<text x=\"%.1f\" y=\"%d\" text-anchor=\"middle\">%s</text>",
            percentile_x(i), BOTTOM + 18, percentiles[i].name);
    buf_printf(out,
        "<text x=\"%d\" y=\"%d\" text-anchor=\"middle\">latency in ms by percentile</text>",
        (LEFT + RIGHT) / 2, HEIGHT - 6);
}

static void put_curve(
    const struct curve *c, const struct axis *y, const char *class, struct buf *out)
{
    buf_printf(out, "<g class=\"%s\"><path class=\"band\" d=\"", class);
    for (size_t i = 0; i < PERCENTILES; i++)
        buf_printf(
            out, "%c%.1f %.1f", i ? 'L' : 'M', percentile_x(i), axis_place(y, c->points[i].high));
    // The band is one closed path: forth along the highest runs, back along the lowest.
    for (size_t i = PERCENTILES; i-- > 0;)
        buf_printf(out, "L%.1f %.1f", percentile_x(i), axis_place(y, c->points[i].low));
    buf_append_str(out, "Z\"/><path class=\"curve\" d=\"");
    for (size_t i = 0; i < PERCENTILES; i++)
        buf_printf(
            out, "%c%.1f %.1f", i ? 'L' : 'M', percentile_x(i), axis_place(y, c->points[i].median));
    buf_append_str(out, "\"/>");
    for (size_t i = 0; i < PERCENTILES; i++)
        buf_printf(out,
            "<circle class=\"mark\" cx=\"%.1f\" cy=\"%.1f\" r=\"3.5\"><title>%s: %.4g ms, runs "
            "from %.4g to %.4g ms</title></circle>",
            percentile_x(i), axis_place(y, c->points[i].median), percentiles[i].name,
            c->points[i].median, c->points[i].low, c->points[i].high);
    buf_append_str(out, "</g>");
}

// Draws the key to a curve at the top: a short piece of its line, and the side's name.
static void put_curve_name(const struct curve *c, const char *class, double x, struct buf *out)
{
    buf_printf(out,
        "<g class=\"%s\"><path class=\"curve\" d=\"M%.1f 10h18\"/><text class=\"name\" x=\"%.1f\" "
        "y=\"14\">",
        class, x, x + 24);
    append_escaped(out, c->side->name);
    buf_append_str(out, "</text></g>");
}

void curves_print(const struct comparison *c, struct buf *out)
{
    struct curve base, new;
    const bool logarithmic = true; // high percentiles are many times the median
    struct axis y = axis_of(BOTTOM, TOP, logarithmic);

    // The curve of one side alone shows no difference, so it is left out.
    if (!curve_make(&base, c->base) || !curve_make(&new, c->new))
        return;
    for (size_t i = 0; i < PERCENTILES; i++) {
        axis_widen(&y, base.points[i].low);
        axis_widen(&y, base.points[i].high);
        axis_widen(&y, new.points[i].low);
        axis_widen(&y, new.points[i].high);
    }
    if (!axis_finish(&y))
        return;
    buf_printf(out,
        "<svg viewBox=\"0 0 %d %d\" role=\"img\" aria-label=\"Latency by percentile: the median of "
        "each side's runs, and the band from its lowest to its highest run\">",
        WIDTH, HEIGHT);
    put_curve_frame(&y, out);
    put_curve(&base, &y, "side-a", out);
    put_curve(&new, &y, "side-b", out);
    put_curve_name(&base, "side-a", LEFT, out);
    put_curve_name(&new, "side-b", (LEFT + RIGHT) / 2.0, out);
    buf_append_str(out, "</svg>\n");
}
