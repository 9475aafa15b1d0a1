#include "report/slopes.h"

#include <math.h>

#include "measure/stats.h"

#define SAMPLES_PER_WINDOW 2 // least number of samples in a window
#define SECONDS_MAX 1000000

static const double warm_up = 0.1; // share of the run that is left out at its beginning

// Where a figure comes from. KIND_LEVEL is a value of a sample; KIND_LEVEL_KB is collector_rss_kb,
// the only one that is an integer. KIND_GROWTH is how much a counter of the samples grew per
// commit. KIND_COLUMN is a column of intervals.csv.
enum kind { KIND_LEVEL, KIND_LEVEL_KB, KIND_GROWTH, KIND_COLUMN };

static const struct {
    const char *name, *unit;
    enum kind kind;
    size_t at;          // offset in struct sample
    const char *column; // name of the column in intervals.csv
    double scale;       // factor from the sample's unit to `unit`
} figures[SLOPES] = {
    [SLOPE_COLLECTOR_MEMORY] = {"collector, resident memory", "KiB", KIND_LEVEL_KB, 0, NULL, 1},
    [SLOPE_BACKENDS_MEMORY] = {"collector's backends, memory of their own", "KiB", KIND_LEVEL,
        offsetof(struct sample, backends_kb), NULL, 1},
    [SLOPE_HARNESS_MEMORY] = {"harness, resident memory", "KiB", KIND_LEVEL,
        offsetof(struct sample, harness_kb), NULL, 1},
    [SLOPE_COLLECTOR_DESCRIPTORS] = {"collector, file descriptors", "", KIND_LEVEL,
        offsetof(struct sample, collector_fds), NULL, 1},
    [SLOPE_SERVER_DESCRIPTORS] = {"server, file descriptors", "", KIND_LEVEL,
        offsetof(struct sample, server_fds), NULL, 1},
    [SLOPE_SHARED_MEMORY] = {"server, shared memory segments", "KiB", KIND_LEVEL,
        offsetof(struct sample, shm_bytes), NULL, 1.0 / 1024},
    [SLOPE_DEAD_TUPLES] = {"dead tuples", "", KIND_LEVEL, offsetof(struct sample, dead_tuples),
        NULL, 1},
    [SLOPE_NOTIFY_QUEUE] = {"notification queue, used", "%", KIND_LEVEL,
        offsetof(struct sample, queue_usage), NULL, 100},
    [SLOPE_DATABASE] = {"database, growth per commit", "B", KIND_GROWTH,
        offsetof(struct sample, database_bytes), NULL, 1},
    [SLOPE_WAL] = {"WAL per commit", "B", KIND_GROWTH, offsetof(struct sample, wal_bytes), NULL, 1},
    [SLOPE_LATENCY_P50] = {"latency p50", "ms", KIND_COLUMN, 0, "latency_p50_ms", 1},
    [SLOPE_LATENCY_P99] = {"latency p99, of a second", "ms", KIND_COLUMN, 0, "latency_p99_ms", 1},
};

// --- windows ----------------------------------------------------------------------------

// The samples after the warm-up in which the server was up.
struct span {
    const struct sample *samples; // owned
    size_t count;
    size_t windows;
};

// Returns the value of a figure in a sample, in the unit of the figure.
static double sample_figure(const struct sample *s, enum slope_id id)
{
    if (figures[id].kind == KIND_LEVEL_KB)
        return (double)s->collector_rss_kb;
    return *(const double *)(const void *)((const char *)s + figures[id].at) * figures[id].scale;
}

// Returns the median of a figure in a window. `scratch` has room for `count` numbers.
static double window_median(const struct sample *s, size_t count, enum slope_id id, double *scratch)
{
    for (size_t i = 0; i < count; i++)
        scratch[i] = sample_figure(&s[i], id);
    // One sample in the midst of a batch says nothing about growth.
    return stats_median(scratch, count);
}

// Returns the growth of a counter per commit, since the first sample of the window. NAN when
// nothing was committed, or a crash has reset the counters meanwhile.
static double window_growth_per_commit(const struct sample *s, size_t count, enum slope_id id)
{
    const struct sample *from = s, *to = &s[count - 1];
    double commits = to->commits - from->commits;

    return commits > 0 ? (sample_figure(to, id) - sample_figure(from, id)) / commits : NAN;
}

static double hours_of(int64_t ns)
{
    return (double)ns / NS_PER_S / 3600;
}

// The points of one figure: one for each window, or for each segment of a soak.
struct points {
    double x[SLOPE_POINTS_MAX], y[SLOPE_POINTS_MAX];
    size_t count;
};

static void add_slope_point(struct points *p, double x, double y)
{
    if (isnan(y))
        return;
    p->x[p->count] = x;
    p->y[p->count++] = y;
}

// True when a figure was measured and has enough points.
static bool is_measured(const struct points *p, enum slope_id id)
{
    bool may_be_zero = figures[id].kind == KIND_GROWTH || figures[id].kind == KIND_COLUMN ||
                       id == SLOPE_DEAD_TUPLES || id == SLOPE_NOTIFY_QUEUE;
    // The other figures are memory and descriptors, which are never 0. If all of their points are
    // 0, they could not be seen, for example because the server is on another machine.
    bool any_above_zero = false;

    for (size_t i = 0; i < p->count; i++)
        any_above_zero = any_above_zero || p->y[i] > 0;
    return (may_be_zero || any_above_zero) && p->count >= SLOPE_POINTS_MIN;
}

// Fits the slope of a figure to its points, if the figure was measured.
static void fit_slope(struct slopes *s, enum slope_id id, const struct points *p)
{
    s->measured[id] = is_measured(p, id);
    if (s->measured[id])
        theil_sen(&s->rows[id], p->x, p->y, p->count);
}

// Adds a point for each window, at the time of its middle sample.
static void add_sample_points(struct points *points, const struct span *span, enum slope_id id)
{
    double *scratch FREED_BY(memory_free) = memory_allocate(span->count * sizeof *scratch);

    for (size_t w = 0; w < span->windows; w++) {
        size_t from = span->count * w / span->windows, to = span->count * (w + 1) / span->windows;
        const struct sample *first = &span->samples[from];
        add_slope_point(points, hours_of(span->samples[(from + to) / 2].at_ns),
            figures[id].kind == KIND_GROWTH ? window_growth_per_commit(first, to - from, id)
                                            : window_median(first, to - from, id, scratch));
    }
}

// --- intervals.csv ------------------------------------------------------------------------

// Returns the number of a column, counted from 0; -1: there is none of this name.
static int column_of(const char *head, const char *name)
{
    size_t len = strlen(name);

    for (int column = 0; head; column++) {
        if (strncmp(head, name, len) == 0 && (head[len] == ',' || head[len] == '\n'))
            return column;
        // Columns are found by name, because new ones are added now and then.
        head = strchr(head, ',');
        head = head ? head + 1 : NULL;
    }
    return -1;
}

// Returns the number in a column of a line. NAN for an empty cell, which is not a zero.
static double csv_number(const char *line, int column)
{
    char *end;

    for (; line && column > 0; column--) {
        line = strchr(line, ',');
        line = line ? line + 1 : NULL;
    }
    // strtod would skip the end of the line, and read on.
    if (!line || *line == '\n')
        return NAN;
    double value = strtod(line, &end);
    return end != line ? value : NAN;
}

// Reads the values of a column, one per second; NAN for an empty cell. Returns how many there are.
static size_t read_column(const char *csv, const char *name, double *values, size_t max)
{
    int column = column_of(csv, name);
    const char *line = strchr(csv, '\n');
    size_t n = 0;

    for (; column >= 0 && line && line[1] && n < max; line = strchr(line + 1, '\n'))
        values[n++] = csv_number(line + 1, column);
    return n;
}

// Removes the NANs among the values. Returns how many values remain.
static size_t without_gaps(double *values, size_t count)
{
    size_t n = 0;

    for (size_t i = 0; i < count; i++) {
        if (!isnan(values[i]))
            values[n++] = values[i];
    }
    return n;
}

// Adds a point for each window, at its middle: the median of the values that a column has in it.
// There is one value a second. The first of them, the share `warming`, are left out.
static void add_column_points(
    struct points *points, const char *csv, size_t windows, double warming, enum slope_id id)
{
    double *values FREED_BY(memory_free) = memory_allocate(SECONDS_MAX * sizeof *values);

    size_t count = read_column(csv, figures[id].column, values, SECONDS_MAX);
    size_t skip = (size_t)((double)count * warming);
    count -= skip;
    for (size_t w = 0; w < windows; w++) {
        size_t from = skip + count * w / windows, to = skip + count * (w + 1) / windows;
        // A second without deliveries has no latency.
        size_t there = without_gaps(values + from, to - from);
        if (there > 0)
            add_slope_point(
                points, (double)(from + to) / 2 / 3600, stats_median(values + from, there));
    }
}

// --- all of them ------------------------------------------------------------------------

// Copies the samples in which the server was up, without the first ones: the share `warming` of the
// run's time.
static void find_span(struct span *span, const struct observed *o, double warming)
{
    struct sample *kept = memory_allocate(o->count * sizeof *kept);
    int64_t end_ns = o->count > 0 ? o->samples[o->count - 1].at_ns : 0;

    *span = (struct span){.samples = kept};
    for (size_t i = 0; i < o->count; i++) {
        // While the server is away, a sample has none of the server's figures.
        if (o->samples[i].up && (double)o->samples[i].at_ns >= warming * (double)end_ns)
            kept[span->count++] = o->samples[i];
    }
}

// Adds the points of a figure, from intervals.csv (`csv`) or from the samples in `span`.
static void add_figure_points(struct points *points, const struct span *span, const char *csv,
    double warming, enum slope_id id)
{
    if (figures[id].kind == KIND_COLUMN)
        add_column_points(points, csv, span->windows, warming, id);
    else
        add_sample_points(points, span, id);
}

bool slopes_take(struct slopes *s, const struct observed *o, const char *csv, struct err *e)
{
    struct span span;
    struct points points;

    *s = (struct slopes){.of = "windows"};
    find_span(&span, o, warm_up);
    // The number of windows is limited, because the slope compares each with each.
    span.windows = span.count / SAMPLES_PER_WINDOW;
    if (span.windows > SLOPES_WINDOWS_MAX)
        span.windows = SLOPES_WINDOWS_MAX;
    bool ok = span.windows >= SLOPE_POINTS_MIN ||
              err_set(e, ERR_USAGE, "the run is too short for a slope: %zu samples, of %d at least",
                  span.count, SLOPE_POINTS_MIN * SAMPLES_PER_WINDOW);
    if (ok) {
        s->points = span.windows;
        s->hours = hours_of(span.samples[span.count - 1].at_ns - span.samples[0].at_ns);
    }
    for (enum slope_id id = 0; ok && id < SLOPES; id++) {
        points.count = 0;
        add_figure_points(&points, &span, csv, warm_up, id);
        fit_slope(s, id, &points);
    }
    free((void *)span.samples);
    return ok;
}

// --- a soak -------------------------------------------------------------------------------

void slopes_segment(struct slopes_segment *g, const struct observed *o, const char *csv)
{
    struct span span;
    struct points point;

    g->at_ns = o->start_wall_ns;
    // A segment has no warm-up of its own (0), and all of its samples are one window.
    find_span(&span, o, 0);
    span.windows = span.count >= SAMPLES_PER_WINDOW;
    for (enum slope_id id = 0; id < SLOPES; id++) {
        point.count = 0;
        add_figure_points(&point, &span, csv, 0, id);
        g->level[id] = point.count > 0 ? point.y[0] : NAN;
    }
    free((void *)span.samples);
}

bool slopes_of_soak(
    struct slopes *s, const struct slopes_segment *segments, size_t count, struct err *e)
{
    const size_t skip = (size_t)ceil((double)count * warm_up), used = count - skip;
    struct points points;

    *s = (struct slopes){.of = "segments"};
    if (used < SLOPE_POINTS_MIN)
        return err_set(e, ERR_USAGE,
            "the soak is too short for a slope: %zu segments, of %d at least", count,
            SLOPE_POINTS_MIN + 1); // 1: the warm-up
    segments += skip;
    s->hours = hours_of(segments[used - 1].at_ns - segments[0].at_ns);
    // More segments than a slope may have points: only every second, third … one is taken.
    size_t step = (used + SLOPE_POINTS_MAX - 1) / SLOPE_POINTS_MAX;
    s->points = (used + step - 1) / step;
    for (enum slope_id id = 0; id < SLOPES; id++) {
        points.count = 0;
        for (size_t i = 0; i < used; i += step)
            add_slope_point(
                &points, hours_of(segments[i].at_ns - segments[0].at_ns), segments[i].level[id]);
        fit_slope(s, id, &points);
    }
    return true;
}

// A figure is steady when the interval of its slope holds zero.
static const char *trend_word(const struct slope *s)
{
    return s->low > 0 ? "grows" : s->high < 0 ? "falls" : "steady";
}

bool slopes_print(const struct slopes *s, struct buf *out)
{
    buf_printf(
        out, "| figure | level | slope per hour | 95%% interval | |\n|---|---|---|---|---|\n");
    for (enum slope_id id = 0; id < SLOPES; id++) {
        const struct slope *r = &s->rows[id];
        const char *unit = figures[id].unit, *blank = *unit ? " " : "";
        if (s->measured[id])
            buf_printf(out, "| %s | %.4g%s%s | %+.3g%s%s | %+.3g to %+.3g | %s |\n",
                figures[id].name, r->level, blank, unit, r->estimate, blank, unit, r->low, r->high,
                trend_word(r));
        else
            buf_printf(out, "| %s | not measured | | | |\n", figures[id].name);
    }
    buf_printf(
        out, "\n%zu %s over %.2f hours, after the first tenth.\n", s->points, s->of, s->hours);
    return buf_str(out);
}
