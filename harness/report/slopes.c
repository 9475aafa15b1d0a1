#include "report/slopes.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "measure/stats.h"

#define SAMPLES_PER_WINDOW 2 // least number of samples in a window
#define SECONDS_MAX 1000000

static const double warm_up = 0.1;

// Where a figure comes from. A level is a value of a sample. A share is the growth of a counter per
// commit. A column is one of intervals.csv.
enum kind { KIND_LEVEL, KIND_LEVEL_KB, KIND_SHARE, KIND_COLUMN };

static const struct {
    const char *name, *unit;
    enum kind kind;
    size_t at;          // offset in struct sample
    const char *column; // name of the column in intervals.csv
    double scale;
} figures[SLOPES] = {
    [SLOPE_COLLECTOR_MEMORY] = {"collector, resident memory", "KiB", KIND_LEVEL_KB, 0, NULL, 1},
    [SLOPE_BACKENDS_MEMORY] = {"collector's backends, memory of their own", "KiB", KIND_LEVEL,
        offsetof(struct sample, backends_kb), NULL, 1},
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
    [SLOPE_DATABASE] = {"database, growth per commit", "B", KIND_SHARE,
        offsetof(struct sample, database_bytes), NULL, 1},
    [SLOPE_WAL] = {"WAL per commit", "B", KIND_SHARE, offsetof(struct sample, wal_bytes), NULL, 1},
    [SLOPE_LATENCY_P50] = {"latency p50", "ms", KIND_COLUMN, 0, "latency_p50_ms", 1},
    [SLOPE_LATENCY_P99] = {"latency p99, of a second", "ms", KIND_COLUMN, 0, "latency_p99_ms", 1},
};

const char *slope_name(enum slope_id id)
{
    return figures[id].name;
}

const char *slope_unit(enum slope_id id)
{
    return figures[id].unit;
}

// --- windows ----------------------------------------------------------------------------

// The samples after the warm-up in which the server was up.
struct span {
    const struct sample *samples; // owned
    size_t count;
    size_t windows;
};

static double level(const struct sample *s, enum slope_id id)
{
    if (figures[id].kind == KIND_LEVEL_KB)
        return (double)s->collector_rss_kb;
    return *(const double *)(const void *)((const char *)s + figures[id].at) * figures[id].scale;
}

static double window_level(const struct sample *s, size_t count, enum slope_id id, double *room)
{
    for (size_t i = 0; i < count; i++)
        room[i] = level(&s[i], id);
    return stats_median(room, count);
}

// Returns the growth of a counter per commit, since the first sample of the window. NAN when
// nothing was committed, or a crash has reset the counters meanwhile.
static double window_share(const struct sample *s, size_t count, enum slope_id id)
{
    const struct sample *from = s, *to = &s[count - 1];
    double commits = to->commits - from->commits;

    return commits > 0 ? (level(to, id) - level(from, id)) / commits : NAN;
}

static double hours(int64_t ns)
{
    return (double)ns / NS_PER_S / 3600;
}

static bool take_samples(struct slopes *s, const struct span *span, enum slope_id id, struct err *e)
{
    double x[SLOPES_WINDOWS_MAX], y[SLOPES_WINDOWS_MAX];
    double *room = malloc((span->count + 1) * sizeof *room);
    bool any = false;
    size_t n = 0;

    if (!room)
        return err_memory(e);
    for (size_t w = 0; w < span->windows; w++) {
        size_t from = span->count * w / span->windows, to = span->count * (w + 1) / span->windows;
        const struct sample *first = &span->samples[from];
        double value = figures[id].kind == KIND_SHARE ? window_share(first, to - from, id)
                                                      : window_level(first, to - from, id, room);
        if (isnan(value))
            continue;
        x[n] = hours(span->samples[(from + to) / 2].at_ns);
        y[n++] = value;
        any = any || value > 0 || value < 0;
    }
    free(room);
    // A figure that is always zero could not be measured.
    if (n < SLOPE_POINTS_MIN || (!any && figures[id].kind == KIND_LEVEL_KB))
        return true;
    s->measured[id] = true;
    return theil_sen(&s->rows[id], x, y, n, e);
}

// --- intervals.csv ------------------------------------------------------------------------

static int column_of(const char *head, const char *name)
{
    size_t len = strlen(name);

    for (int column = 0; head; column++) {
        if (strncmp(head, name, len) == 0 && (head[len] == ',' || head[len] == '\n'))
            return column;
        head = strchr(head, ',');
        head = head ? head + 1 : NULL;
    }
    return -1;
}

static double cell(const char *line, int column)
{
    char *end;

    for (; line && column > 0; column--) {
        line = strchr(line, ',');
        line = line ? line + 1 : NULL;
    }
    double value = line ? strtod(line, &end) : 0;
    return line && end != line ? value : NAN;
}

// Reads the values of a column, one per second; NAN for an empty cell.
static size_t read_column(const char *csv, const char *name, double *values, size_t max)
{
    int column = column_of(csv, name);
    const char *line = strchr(csv, '\n');
    size_t n = 0;

    for (; column >= 0 && line && line[1] && n < max; line = strchr(line + 1, '\n'))
        values[n++] = cell(line + 1, column);
    return n;
}

static size_t without_gaps(double *values, size_t count)
{
    size_t n = 0;

    for (size_t i = 0; i < count; i++) {
        if (!isnan(values[i]))
            values[n++] = values[i];
    }
    return n;
}

static bool take_column(
    struct slopes *s, const char *csv, size_t windows, enum slope_id id, struct err *e)
{
    double x[SLOPES_WINDOWS_MAX], y[SLOPES_WINDOWS_MAX];
    double *values = malloc(SECONDS_MAX * sizeof *values);
    size_t n = 0;

    if (!values)
        return err_memory(e);
    size_t count = read_column(csv, figures[id].column, values, SECONDS_MAX);
    size_t skip = (size_t)((double)count * warm_up);
    count -= skip;
    for (size_t w = 0; w < windows; w++) {
        size_t from = skip + count * w / windows, to = skip + count * (w + 1) / windows;
        double middle = (double)(from + to) / 2 / 3600;
        size_t there = without_gaps(values + from, to - from);
        if (there == 0)
            continue;
        x[n] = middle;
        y[n++] = stats_median(values + from, there);
    }
    free(values);
    if (n < SLOPE_POINTS_MIN)
        return true;
    s->measured[id] = true;
    return theil_sen(&s->rows[id], x, y, n, e);
}

// --- all of them ------------------------------------------------------------------------

static bool find_span(struct span *span, const struct observed *o, struct err *e)
{
    struct sample *kept = malloc((o->count + 1) * sizeof *kept);
    int64_t end_ns = o->count > 0 ? o->samples[o->count - 1].at_ns : 0;

    if (!kept)
        return err_memory(e);
    span->samples = kept;
    span->count = 0;
    for (size_t i = 0; i < o->count; i++) {
        if (o->samples[i].up && (double)o->samples[i].at_ns >= warm_up * (double)end_ns)
            kept[span->count++] = o->samples[i];
    }
    span->windows = span->count / SAMPLES_PER_WINDOW;
    if (span->windows > SLOPES_WINDOWS_MAX)
        span->windows = SLOPES_WINDOWS_MAX;
    return span->windows >= SLOPE_POINTS_MIN ||
           err_set(e, ERR_USAGE, "the run is too short for a slope: %zu samples, of %d at least",
               span->count, SLOPE_POINTS_MIN * SAMPLES_PER_WINDOW);
}

bool slopes_take(struct slopes *s, const struct observed *o, char *csv, struct err *e)
{
    struct span span = {0};

    *s = (struct slopes){0};
    bool ok = find_span(&span, o, e);
    if (ok) {
        s->windows = span.windows;
        s->hours = hours(span.samples[span.count - 1].at_ns - span.samples[0].at_ns);
    }
    for (enum slope_id id = 0; ok && id < SLOPES; id++)
        ok = figures[id].kind == KIND_COLUMN ? take_column(s, csv, span.windows, id, e)
                                             : take_samples(s, &span, id, e);
    free((void *)span.samples);
    return ok;
}

// A figure is steady when the interval of its slope holds zero.
static const char *word_of(const struct slope *s)
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
                word_of(r));
        else
            buf_printf(out, "| %s | not measured | | | |\n", figures[id].name);
    }
    buf_printf(
        out, "\n%zu windows over %.2f hours, after the first tenth.\n", s->windows, s->hours);
    return buf_str(out);
}
