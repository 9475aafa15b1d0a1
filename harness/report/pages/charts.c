#include "report/pages/charts.h"

#include <math.h>

#include "check/stages.h"
#include "measure/histogram.h"

// --- the figures of each interval ----------------------------------------------------

// The stages of a token's time, in their order; stages.h defines them.
enum series_stage { STAGE_LAG, STAGE_INSERT, STAGE_WAIT, STAGE_DEQUEUE, SERIES_STAGES };

struct series_point {
    int64_t at_ns;      // start of the interval, counted from the start of the load
    uint32_t offered;   // tokens that the plan intended for the interval
    uint32_t achieved;  // tokens acknowledged in the interval
    uint32_t delivered; // first deliveries read in the interval
    int64_t backlog;    // tokens acknowledged and not yet read at the end of the interval
    double p50_ms, p99_ms, max_ms; // latency since the intended insert; NAN: no token was read
    double commit_p50_ms, commit_p99_ms; // latency since the acknowledgement; NAN: none
    double stage_ms[SERIES_STAGES]; // mean of each stage over the tokens read; NAN: none was read
};

struct series {
    struct series_point *points; // owned
    size_t count;
    int64_t step_ns;
};

#define POINTS 250

static const int64_t step_min_ns = 100 * NS_PER_MS;
static const int64_t highest_ns = 60 * NS_PER_S;

// Returns the point of a time; the first or the last point for a time outside of the run.
static struct series_point *point_at(struct series *s, const struct ledger *l, int64_t ns)
{
    int64_t since_ns = ns - l->start_ns;
    size_t i = since_ns <= 0 ? 0 : (size_t)(since_ns / s->step_ns);

    return &s->points[i < s->count ? i : s->count - 1];
}

// Counts for each interval the tokens that the plan offered and those that were acknowledged.
static void count_inserts(struct series *s, const struct ledger *l)
{
    for (size_t i = 0; i < l->plan->txn_count; i++) {
        const struct plan_txn *txn = &l->plan->txns[i];
        // The closed loop was over before the transaction's turn, so its tokens were not offered.
        if (l->txns[i].outcome == TXN_NOT_NEEDED)
            continue;
        point_at(s, l, l->start_ns + txn->at_ns)->offered += txn->rows;
        if (l->txns[i].outcome == TXN_COMMITTED)
            point_at(s, l, l->txns[i].ended_ns)->achieved += txn->rows;
    }
}

// Histograms and sums over the tokens of the current point.
struct gathering {
    struct histogram from_intended, from_commit;
    double stage_ns[SERIES_STAGES];
};

static double percentile_ms(const struct histogram *h, double percentile)
{
    return h->total ? (double)histogram_percentile(h, percentile) / 1e6 : NAN;
}

// Fills in the figures of a point, and empties the sums for the next point.
static void close_point(struct series_point *p, struct gathering *g)
{
    int64_t measured = g->from_intended.total;

    p->p50_ms = percentile_ms(&g->from_intended, 50);
    p->p99_ms = percentile_ms(&g->from_intended, 99);
    p->max_ms = measured ? (double)g->from_intended.max / 1e6 : NAN;
    p->commit_p50_ms = percentile_ms(&g->from_commit, 50);
    p->commit_p99_ms = percentile_ms(&g->from_commit, 99);
    for (int i = 0; i < SERIES_STAGES; i++) {
        p->stage_ms[i] = measured ? g->stage_ns[i] / (double)measured / 1e6 : NAN;
        g->stage_ns[i] = 0;
    }
    histogram_clear(&g->from_intended);
    histogram_clear(&g->from_commit);
}

// Adds the first delivery of a token to the sums, as far as its times are known.
static void add_series_token(
    struct gathering *g, const struct ledger *l, uint32_t token, int64_t read_ns, int64_t fire_ns)
{
    const struct txn_record *txn = ledger_txn(l, token);

    if (txn->outcome == TXN_COMMITTED)
        histogram_record(&g->from_commit, read_ns > txn->ended_ns ? read_ns - txn->ended_ns : 0);
    if (!stages_measurable(l, token))
        return;
    struct stage_times t = stages_of(l, token, fire_ns);
    histogram_record(&g->from_intended, read_ns - ledger_intended_ns(l, token));
    g->stage_ns[STAGE_LAG] += (double)t.lag_ns;
    g->stage_ns[STAGE_INSERT] += (double)t.insert_ns;
    g->stage_ns[STAGE_WAIT] += (double)t.wait_ns;
    g->stage_ns[STAGE_DEQUEUE] += (double)t.dequeue_ns;
}

// Counts the deliveries, and closes each point. The lines are in the order in which they were read,
// so one set of sums serves all points, one after another.
static void count_deliveries(struct series *s, const struct ledger *l, struct gathering *g)
{
    struct series_point *current = s->points;
    enum fired_by ignored;

    for (uint32_t i = 0; i < l->log->line_count; i++) {
        const struct line_record *line = &l->log->lines[i];
        struct series_point *p = point_at(s, l, line->read_ns);
        if (p != current)
            close_point(current, g);
        current = p;
        int64_t fire_ns = stages_fire_ns(l, line, &ignored);
        for (uint32_t k = 0; k < line->tokens; k++) {
            uint32_t token = l->log->deliveries[line->first_delivery + k].token;
            // Only the first delivery of a planned token counts.
            if (token >= l->plan->token_count || l->tokens[token].deliveries == 0 ||
                l->tokens[token].first_line != i)
                continue;
            p->delivered++;
            add_series_token(g, l, token, line->read_ns, fire_ns);
        }
    }
    close_point(current, g);
}

static void sum_backlog(struct series *s)
{
    int64_t backlog = 0;

    for (size_t i = 0; i < s->count; i++) {
        backlog += (int64_t)s->points[i].achieved - (int64_t)s->points[i].delivered;
        // A token may be read before the answer to its COMMIT has come, so the difference may be
        // negative for a while.
        s->points[i].backlog = backlog > 0 ? backlog : 0;
    }
}

static void series_fini(struct series *s)
{
    free(s->points);
    *s = (struct series){0};
}

// Divides the run into about 250 intervals of at least 100 ms.
static bool series_make(struct series *s, const struct ledger *l, struct err *e)
{
    int64_t length_ns = l->drain_end_ns - l->start_ns;
    struct gathering g = {0};

    // If the collector never started, the run ends before its load begins.
    if (length_ns < 0)
        length_ns = 0;
    *s = (struct series){.step_ns = length_ns / POINTS};
    // With shorter intervals most points of a short run would have no token.
    if (s->step_ns < step_min_ns)
        s->step_ns = step_min_ns;
    s->count = (size_t)(length_ns / s->step_ns) + 1;
    s->points = calloc(s->count, sizeof *s->points);
    if (!s->points || !histogram_init(&g.from_intended, highest_ns, e) ||
        !histogram_init(&g.from_commit, highest_ns, e)) {
        series_fini(s);
        histogram_fini(&g.from_intended);
        return err_memory(e);
    }
    for (size_t i = 0; i < s->count; i++) {
        struct series_point *p = &s->points[i];
        p->at_ns = (int64_t)i * s->step_ns;
        close_point(p, &g); // sets all figures to NAN: the point has no line yet
    }
    count_inserts(s, l);
    count_deliveries(s, l, &g);
    sum_backlog(s);
    histogram_fini(&g.from_intended);
    histogram_fini(&g.from_commit);
    return true;
}

// --- as columns -----------------------------------------------------------------------

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

static void add_point(json_t *columns, const struct series_point *p, double per_s)
{
    add_cell(columns, "t", (double)p->at_ns / 1e9);
    add_cell(columns, "offered", p->offered * per_s);
    add_cell(columns, "achieved", p->achieved * per_s);
    add_cell(columns, "delivered", p->delivered * per_s);
    add_cell(columns, "backlog", (double)p->backlog);
    add_cell(columns, "p50", p->p50_ms);
    add_cell(columns, "p99", p->p99_ms);
    add_cell(columns, "max", p->max_ms);
    add_cell(columns, "commit_p50", p->commit_p50_ms);
    add_cell(columns, "commit_p99", p->commit_p99_ms);
    add_cell(columns, "lag", p->stage_ms[STAGE_LAG]);
    add_cell(columns, "insert", p->stage_ms[STAGE_INSERT]);
    add_cell(columns, "wait", p->stage_ms[STAGE_WAIT]);
    add_cell(columns, "dequeue", p->stage_ms[STAGE_DEQUEUE]);
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

// Adds the growth of counters as rates since the sample before. A counter of the server has no rate
// when the server was away or a crash had reset the counter.
static void add_rates(json_t *columns, const struct sample *now, const struct sample *before)
{
    bool comparable = now->up && before && before->up && now->commits >= before->commits;
    double for_s = before ? (double)(now->at_ns - before->at_ns) / 1e9 : 0;

    comparable = comparable && for_s > 0;
    add_cell(columns, "wal_kib_per_s",
        comparable ? (now->wal_bytes - before->wal_bytes) / 1024 / for_s : nothing);
    add_cell(
        columns, "commits_per_s", comparable ? (now->commits - before->commits) / for_s : nothing);
    double total_s = before ? now->total_s - before->total_s : 0;
    add_cell(columns, "machine_busy_percent",
        before && total_s > 0 ? 100 * (now->busy_s - before->busy_s) / total_s : nothing);
}

static void add_sample(json_t *columns, const struct sample *now)
{
    bool up = now->up;

    add_cell(columns, "active_backends", up ? now->active : nothing);
    add_cell(columns, "notify_queue_percent", up ? 100 * now->queue_usage : nothing);
    add_cell(columns, "dead_tuples", up ? now->dead_tuples : nothing);
    add_cell(columns, "oldest_xmin_age", up ? now->oldest_xmin_age : nothing);
    add_cell(columns, "collector_mib",
        now->collector_rss_kb > 0 ? (double)now->collector_rss_kb / 1024 : nothing);
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

json_t *charts_batches(const struct ledger *l, struct err *e)
{
    size_t largest = largest_line(l);
    size_t(*lines)[FIRED_KINDS] = calloc(largest + 1, sizeof *lines);
    unsigned char *whys = stages_reasons(l, e);
    json_t *sizes = json_array(), *names = json_array();

    for (size_t i = 0; lines && whys && i < l->log->line_count; i++) {
        // A torn line does not say how many tokens it was meant to have.
        if (l->log->lines[i].state == LINE_WHOLE)
            lines[l->log->lines[i].tokens][whys[i]]++;
    }
    for (size_t tokens = 1; lines && whys && tokens <= largest; tokens++)
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
