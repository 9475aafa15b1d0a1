#include "report/pages/charts.h"

#include <math.h>
#include <stdlib.h>

#include "report/pages/series.h"

static json_t *chart_number(double value)
{
    // Four digits behind the point are more than a chart can show, and keep the page small.
    return isfinite(value) ? json_real(rint(value * 1e4) / 1e4) : json_null();
}

static void add_series(json_t *columns, const char *name, double value)
{
    json_t *column = json_object_get(columns, name);

    if (!column) {
        column = json_array();
        json_object_set_new(columns, name, column);
    }
    json_array_append_new(column, chart_number(value));
}

// --- the run -------------------------------------------------------------------

static void add_point(json_t *columns, const struct series_point *p, double per_s)
{
    add_series(columns, "t", (double)p->at_ns / 1e9);
    add_series(columns, "offered", p->offered * per_s);
    add_series(columns, "achieved", p->achieved * per_s);
    add_series(columns, "delivered", p->delivered * per_s);
    add_series(columns, "backlog", (double)p->backlog);
    add_series(columns, "p50", p->p50_ms);
    add_series(columns, "p99", p->p99_ms);
    add_series(columns, "max", p->max_ms);
    add_series(columns, "commit_p50", p->commit_p50_ms);
    add_series(columns, "commit_p99", p->commit_p99_ms);
    add_series(columns, "lag", p->stage_ms[STAGE_LAG]);
    add_series(columns, "insert", p->stage_ms[STAGE_INSERT]);
    add_series(columns, "wait", p->stage_ms[STAGE_WAIT]);
    add_series(columns, "dequeue", p->stage_ms[STAGE_DEQUEUE]);
}

json_t *charts_series(const struct ledger *l, struct err *e)
{
    struct series s;

    if (!series_make(&s, l, e))
        return NULL;
    json_t *columns = json_object();
    for (size_t i = 0; i < s.count; i++)
        add_point(columns, &s.points[i], 1e9 / (double)s.step_ns);
    series_fini(&s);
    return columns;
}

// --- the server ----------------------------------------------------------------

static const double nothing = NAN;

// Adds the growth of counters as rates since the sample before. There is no rate when the server
// was away or a crash had reset its counters.
static void add_rates(json_t *columns, const struct sample *now, const struct sample *before)
{
    bool counted = now->up && before && before->up && now->commits >= before->commits;
    double for_s = before ? (double)(now->at_ns - before->at_ns) / 1e9 : 0;

    counted = counted && for_s > 0;
    add_series(columns, "wal_kib_per_s",
        counted ? (now->wal_bytes - before->wal_bytes) / 1024 / for_s : nothing);
    add_series(
        columns, "commits_per_s", counted ? (now->commits - before->commits) / for_s : nothing);
    double total_s = before ? now->total_s - before->total_s : 0;
    add_series(columns, "machine_busy_percent",
        before && total_s > 0 ? 100 * (now->busy_s - before->busy_s) / total_s : nothing);
}

static void add_sample(json_t *columns, const struct sample *now)
{
    bool up = now->up;

    add_series(columns, "active_backends", up ? now->active : nothing);
    add_series(columns, "notify_queue_percent", up ? 100 * now->queue_usage : nothing);
    add_series(columns, "dead_tuples", up ? now->dead_tuples : nothing);
    add_series(columns, "oldest_xmin_age", up ? now->oldest_xmin_age : nothing);
    add_series(columns, "collector_mib",
        now->collector_rss_kb > 0 ? (double)now->collector_rss_kb / 1024 : nothing);
}

json_t *charts_server(const struct report *r)
{
    const struct observed *o = r->observed;
    json_t *columns = json_object();

    for (size_t i = 0; i < o->count; i++) {
        add_series(columns, "t", ledger_seconds(r->ledger, o->samples[i].at_ns));
        add_rates(columns, &o->samples[i], i ? &o->samples[i - 1] : NULL);
        add_sample(columns, &o->samples[i]);
    }
    return columns;
}

// --- distributions ---------------------------------------------------------------

static double percentile_ms(const struct histogram *h, double percentile)
{
    return h->total > 0 ? (double)histogram_percentile(h, percentile) / 1e6 : nothing;
}

// Makes the curve on a scale of nines: 1 is 90%, 2 is 99%. The curve ends where only one value of
// the run is larger.
json_t *charts_percentiles(const struct result *r)
{
    enum { STEPS_PER_NINE = 20 };
    json_t *columns = json_object();
    const struct histogram *intended = &r->from_intended, *commit = &r->from_commit;
    // A closed loop has no intended times, so its curve is only that from the commit.
    int64_t most = intended->total > commit->total ? intended->total : commit->total;
    int steps = most > 0 ? (int)ceil(STEPS_PER_NINE * log10((double)most)) : -1;

    // On a linear scale all that matters, the last percent, would share a few pixels.
    for (int i = 0; i <= steps; i++) {
        double nines = (double)i / STEPS_PER_NINE;
        double percentile = 100 * (1 - pow(10, -nines));
        add_series(columns, "nines", nines);
        add_series(columns, "from_intended", percentile_ms(intended, percentile));
        add_series(columns, "from_commit", percentile_ms(commit, percentile));
    }
    return columns;
}

static size_t largest_line(const struct ledger *l)
{
    size_t most = 0;

    for (size_t i = 0; i < l->log->line_count; i++) {
        const struct line_record *line = &l->log->lines[i];
        if (line->state == LINE_WHOLE && line->tokens > most)
            most = line->tokens;
    }
    return most;
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

json_t *charts_batches(const struct ledger *l, struct err *e)
{
    size_t most = largest_line(l);
    size_t(*lines)[FIRED_KINDS] = calloc(most + 1, sizeof *lines);
    unsigned char *whys = stages_reasons(l, e);
    json_t *sizes = json_array(), *names = json_array();

    for (size_t i = 0; lines && whys && i < l->log->line_count; i++) {
        // A torn line does not say how many tokens it was meant to have.
        if (l->log->lines[i].state == LINE_WHOLE)
            lines[l->log->lines[i].tokens][whys[i]]++;
    }
    for (size_t tokens = 1; lines && whys && tokens <= most; tokens++)
        json_array_append_new(sizes, size_row(tokens, lines[tokens]));
    for (enum fired_by why = 0; why < FIRED_KINDS; why++)
        json_array_append_new(names, json_string(fired_name(why)));
    bool made = lines && whys;
    free(lines);
    free(whys);
    if (made)
        return json_pack("{s:o, s:o}", "reasons", names, "sizes", sizes);
    json_decref(sizes);
    json_decref(names);
    err_memory(e);
    return NULL;
}
