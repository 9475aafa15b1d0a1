#include "report/pages/charts.h"

#include <math.h>

#include "check/intervals.h"

// --- columns ----------------------------------------------------------------------------

static json_t *chart_number(double value)
{
    // Four digits after the point are more than a chart can show, and keep the page small.
    return isfinite(value) ? json_real(rint(value * 1e4) / 1e4) : json_null();
}

// Appends a value to the column of this name, which is made at its first value.
static void add_cell(json_t *columns, const char *name, double value)
{
    json_t *column = json_object_get(columns, name);

    if (!column) {
        column = json_array();
        json_object_set_new(columns, name, column);
    }
    json_array_append_new(column, chart_number(value));
}

// --- the run -------------------------------------------------------------------

static double percentile_ms(const struct histogram *h, double percentile)
{
    return h->total ? (double)histogram_percentile(h, percentile) / 1e6 : NAN;
}

// Adds a stage's mean over the tokens that were read in the interval; a gap if none was.
static void add_stage(json_t *columns, const char *name, const struct interval *i, int64_t sum_ns)
{
    add_cell(columns, name, (double)sum_ns / (double)i->from_intended->total / 1e6);
}

// Adds an interval of the run to all columns: rates per second, and latencies in ms.
static void add_point(void *columns, const struct interval *i)
{
    double per_s = 1e9 / (double)i->length_ns;

    add_cell(columns, "t", (double)i->from_ns / 1e9);
    add_cell(columns, "offered", (double)i->intended * per_s);
    add_cell(columns, "achieved", (double)i->committed * per_s);
    add_cell(columns, "delivered", (double)i->delivered * per_s);
    add_cell(columns, "backlog", (double)i->backlog);
    add_cell(columns, "p50", percentile_ms(i->from_intended, 50));
    add_cell(columns, "p99", percentile_ms(i->from_intended, 99));
    add_cell(columns, "max", i->from_intended->total ? (double)i->from_intended->max / 1e6 : NAN);
    add_cell(columns, "commit_p50", percentile_ms(i->from_commit, 50));
    add_cell(columns, "commit_p99", percentile_ms(i->from_commit, 99));
    add_stage(columns, "lag", i, i->stages.lag_ns);
    add_stage(columns, "insert", i, i->stages.insert_ns);
    add_stage(columns, "wait", i, i->stages.wait_ns);
    add_stage(columns, "dequeue", i, i->stages.dequeue_ns);
}

// Divides the run into about 250 intervals of at least 100 ms. With shorter ones most points of a
// short run would have no token.
json_t *charts_series(const struct ledger *l)
{
    int64_t step_ns = clock_max((l->drain_end_ns - l->start_ns) / 250, 100 * NS_PER_MS);
    json_t *columns = json_object();

    intervals_each_step(l, step_ns, add_point, columns);
    return columns;
}

// --- the server ----------------------------------------------------------------

// Adds the growth of counters as rates since the sample before. A counter of the server has no rate
// when the server was away or a crash had reset the counter.
static void add_rates(json_t *columns, const struct sample *now, const struct sample *before)
{
    bool comparable = now->up && before && before->up && now->commits >= before->commits;
    double for_s = before ? (double)(now->at_ns - before->at_ns) / 1e9 : 0;

    comparable = comparable && for_s > 0;
    add_cell(columns, "wal_kib_per_s",
        comparable ? (now->wal_bytes - before->wal_bytes) / 1024 / for_s : NAN);
    add_cell(columns, "commits_per_s", comparable ? (now->commits - before->commits) / for_s : NAN);
    double total_s = before ? now->total_s - before->total_s : 0;
    add_cell(columns, "machine_busy_percent",
        before && total_s > 0 ? 100 * (now->busy_s - before->busy_s) / total_s : NAN);
}

// Adds the figures that are no rates. Those of the server have a gap while it is away.
static void add_sample(json_t *columns, const struct sample *now)
{
    bool up = now->up;

    add_cell(columns, "active_backends", up ? (double)now->active : NAN);
    add_cell(columns, "notify_queue_percent", up ? 100 * now->queue_usage : NAN);
    add_cell(columns, "dead_tuples", up ? now->dead_tuples : NAN);
    add_cell(columns, "oldest_xmin_age", up ? now->oldest_xmin_age : NAN);
    add_cell(columns, "collector_mib",
        now->collector_rss_kb > 0 ? (double)now->collector_rss_kb / 1024 : NAN);
}

json_t *charts_server(const struct report *r)
{
    const struct observed *o = r->observed;
    json_t *columns = json_object();

    for (size_t i = 0; i < o->count; i++) {
        add_cell(columns, "t", ledger_seconds(r->ledger, o->samples[i].at_ns));
        add_rates(columns, &o->samples[i], i ? &o->samples[i - 1] : NULL);
        add_sample(columns, &o->samples[i]);
    }
    return columns;
}

// --- distributions ---------------------------------------------------------------

// Makes the curve on a scale of nines: 1 is 90%, 2 is 99%. The curve ends where only one value of
// the run is larger.
json_t *charts_percentiles(const struct result *r)
{
    enum { STEPS_PER_NINE = 20 };
    json_t *columns = json_object();
    const struct histogram *intended = &r->from_intended, *commit = &r->from_commit;
    // A closed loop has no intended times, so its curve is only that from the commit.
    int64_t values = intended->total > commit->total ? intended->total : commit->total;
    int steps = values > 0 ? (int)ceil(STEPS_PER_NINE * log10((double)values)) : -1;

    // On a linear scale the last percent, which matters most, would share a few pixels.
    for (int i = 0; i <= steps; i++) {
        double nines = (double)i / STEPS_PER_NINE;
        double percentile = 100 * (1 - pow(10, -nines));
        add_cell(columns, "nines", nines);
        add_cell(columns, "from_intended", percentile_ms(intended, percentile));
        add_cell(columns, "from_commit", percentile_ms(commit, percentile));
    }
    return columns;
}

static size_t largest_line(const struct ledger *l)
{
    size_t largest = 0;

    for (size_t i = 0; i < l->log->line_count; i++) {
        const struct line_record *line = &l->log->lines[i];
        if (line->state == LINE_WHOLE && line->tokens > largest)
            largest = line->tokens;
    }
    return largest;
}

// Returns a row such as {"tokens": 3, "lines": 7, "by": [2, 5, 0, …]}, with `by` in the order of
// enum fired_by.
static json_t *size_row(size_t tokens, const size_t *by)
{
    json_t *list = json_array();
    size_t lines = 0;

    for (int why = 0; why < FIRED_KINDS; why++) {
        json_array_append_new(list, json_integer((json_int_t)by[why]));
        lines += by[why];
    }
    return json_pack(
        "{s:I, s:I, s:o}", "tokens", (json_int_t)tokens, "lines", (json_int_t)lines, "by", list);
}

json_t *charts_batches(const struct ledger *l)
{
    size_t largest = largest_line(l);
    size_t(*lines)[FIRED_KINDS] FREED_BY(memory_free) = memory_zeroed(largest + 1, sizeof *lines);
    unsigned char *whys FREED_BY(memory_free) = stages_reasons(l);
    json_t *sizes = json_array(), *names = json_array();

    for (size_t i = 0; i < l->log->line_count; i++) {
        // A torn line does not say how many tokens it was meant to have.
        if (l->log->lines[i].state == LINE_WHOLE)
            lines[l->log->lines[i].tokens][whys[i]]++;
    }
    for (size_t tokens = 1; tokens <= largest; tokens++)
        json_array_append_new(sizes, size_row(tokens, lines[tokens]));
    for (enum fired_by why = 0; why < FIRED_KINDS; why++)
        json_array_append_new(names, json_string(fired_name(why)));
    return json_pack("{s:o, s:o}", "reasons", names, "sizes", sizes);
}
