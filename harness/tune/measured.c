#include "tune/measured.h"

#include <math.h>

#include "check/stages.h"
#include "measure/stats.h"
#include "report/files/parse_json.h"
#include "tune/model.h"

// Returns the number result.<object>.<key>; NAN when there is none.
static double cost_number(const json_t *result, const char *object, const char *key)
{
    return parse_figure(json_object_get(result, object), key);
}

// Converts the seconds that this many tokens took to milliseconds per thousand tokens: both factors
// of 1000 make 1e6.
static double per_thousand(double seconds, double tokens)
{
    return tokens > 0 ? seconds / tokens * 1e6 : NAN;
}

struct tune_cost cost_of(const json_t *result, bool local)
{
    double tokens = cost_number(result, "tokens", "delivered");
    double backends_s = local ? cost_number(result, "cpu_s", "collector_backends") : NAN;

    return (struct tune_cost){
        .wal_bytes = cost_number(result, "server", "wal_bytes_per_token"),
        .backend_cpu_ms = per_thousand(backends_s, tokens),
        .collector_cpu_ms = per_thousand(cost_number(result, "collector", "cpu_s"), tokens),
        // A run of its own counts the round trips (read_pair_run in sweep.c).
        .round_trips = NAN,
    };
}

static bool counts_trips(const struct measurement *item)
{
    return item->counts_trips;
}

// True when the run was timed, without the proxy that counts round trips, and was conclusive.
static bool is_conclusive(const struct measurement *item)
{
    return !item->counts_trips && item->run.verdict != VERDICT_INCONCLUSIVE;
}

static double tokens_per_batch(const struct stored *run)
{
    return run->values[METRIC_DELIVERED] / run->values[METRIC_COLLECTOR_BATCHES];
}

bool measured_add(struct measured *o, struct measurement *item, const struct expectation *objective,
    struct err *e)
{
    enum metric_id id = objective ? metric_find(objective->metric)->id : METRIC_LATENCY_P99;

    if (o->count == MEASURED_MAX) {
        recording_fini(&item->recording);
        return err_set(e, ERR_INTERNAL, "no room for another run");
    }
    memory_grow(&o->items, o->count, 1, sizeof *o->items);
    o->items[o->count++] = *item;
    // One violated run is enough to break the pair, however many passed: a pair that sometimes
    // loses mail cannot be used. Late mail alone breaks no pair, because a busy machine can cause
    // it.
    o->broken = o->broken || (!item->counts_trips && compare_broke_more_than_timing(&item->run));
    // The figures of an inconclusive run may show a busy machine rather than the pair.
    if (is_conclusive(item)) {
        o->judged[o->used] = item->run.values[id];
        o->p99[o->used] = item->run.values[METRIC_LATENCY_P99];
        o->tokens[o->used++] = tokens_per_batch(&item->run);
    }
    return true;
}

void measured_fini(struct measured *o)
{
    for (size_t i = 0; i < o->count; i++)
        recording_fini(&o->items[i].recording);
    free(o->items);
    *o = (struct measured){0};
}

// Returns the number of runs, inconclusive ones too, but not those that only counted round trips.
static size_t count_timed(const struct measured *o)
{
    size_t count = 0;

    for (size_t i = 0; i < o->count; i++)
        count += !o->items[i].counts_trips;
    return count;
}

struct schedule_pair measured_schedule(const struct measured *o)
{
    return (struct schedule_pair){.values = o->judged,
        .p99 = o->p99,
        .tokens = o->tokens,
        .count = o->used,
        .tried = count_timed(o),
        .broken = o->broken};
}

// Returns the median of the double at offset `at` of struct measurement, over the runs for which
// `is_used` is true and that measured it.
static double median_at(
    const struct measured *o, size_t at, bool (*is_used)(const struct measurement *item))
{
    double values[MEASURED_MAX];
    size_t n = 0;

    for (size_t i = 0; i < o->count; i++) {
        const struct measurement *item = &o->items[i];
        double value;
        memcpy(&value, (const char *)item + at, sizeof value);
        if (is_used(item) && !isnan(value))
            values[n++] = value;
    }
    return stats_median(values, n);
}

void measured_summarise(const struct measured *o, struct tune_pair *p)
{
    for (enum metric_id id = 0; id < METRIC_COUNT; id++)
        p->values[id] = median_at(
            o, offsetof(struct measurement, run.values) + id * sizeof(double), is_conclusive);
    p->tokens_per_batch = precision_of(o->tokens, o->used).median;
    p->judged = precision_of(o->judged, o->used);
    p->cost = (struct tune_cost){
        .wal_bytes = median_at(o, offsetof(struct measurement, cost.wal_bytes), is_conclusive),
        .backend_cpu_ms =
            median_at(o, offsetof(struct measurement, cost.backend_cpu_ms), is_conclusive),
        .collector_cpu_ms =
            median_at(o, offsetof(struct measurement, cost.collector_cpu_ms), is_conclusive),
        .round_trips = median_at(o, offsetof(struct measurement, cost.round_trips), counts_trips),
    };
    p->runs = count_timed(o);
    p->inconclusive = p->runs - o->used;
    p->broken = o->broken;
}

// --- the model beside the measurement -------------------------------------------------

void measured_queries(struct queries *q, const struct measured *all, size_t count, size_t except)
{
    for (size_t i = 0; i < count; i++) {
        for (size_t k = 0; i != except && k < all[i].count; k++) {
            if (is_conclusive(&all[i].items[k]))
                queries_join(q, &all[i].items[k].recording.queries);
        }
    }
    queries_ready(q);
}

// Simulates a run: the arrivals of its recording, with the limit and timeout of the pair.
static bool simulate_recording(const struct recording *rec, const struct queries *q,
    const struct tune_pair *p, uint64_t seed, struct model_result *r, struct err *e)
{
    const struct load_phase arrivals = {.for_ns = rec->length_ns,
        .arrivals = ARRIVALS_TRACE,
        .trace_ns = rec->arrivals_ns,
        .trace_count = rec->count,
        .rows_from = 1,
        .rows_to = 1};
    // The load ends with the period, as in the run, so the last batch has to wait for its timeout.
    const struct model m = {.phases = &arrivals,
        .phase_count = 1,
        .limit = p->limit,
        .timeout_ns = p->timeout_ns,
        .queries = q,
        .period_ns = rec->length_ns,
        .ends = true,
        .seed = seed};

    return model_run(r, &m, e);
}

// Simulates all conclusive runs of a pair with the query times `q`, and fills in the medians of the
// model's figures and errors. A pair without a suitable run gets NAN.
static bool model_pair(const struct measured *o, const struct queries *q, struct tune_pair *p,
    uint64_t seed, struct err *e)
{
    double p50[MEASURED_MAX], tokens[MEASURED_MAX], p50_off[MEASURED_MAX], tokens_off[MEASURED_MAX];
    size_t n = 0;

    for (size_t i = 0; i < o->count; i++) {
        const struct measurement *item = &o->items[i];
        struct model_result r;
        if (!is_conclusive(item) || item->recording.count == 0)
            continue;
        if (!simulate_recording(&item->recording, q, p, seed, &r, e))
            return false;
        p50[n] = (double)histogram_percentile(&r.latency, 50) / NS_PER_MS;
        tokens[n] = model_tokens_per_batch(&r);
        // The model's arrivals are the acknowledged commits, so its latency is compared with that
        // from the commit.
        p50_off[n] = p50[n] / item->run.values[METRIC_COMMIT_LATENCY_P50] - 1;
        tokens_off[n] = tokens[n] / tokens_per_batch(&item->run) - 1;
        n++;
        model_result_fini(&r);
    }
    p->model_p50_ms = stats_median(p50, n);
    p->model_tokens_per_batch = stats_median(tokens, n);
    p->model_p50_off = stats_median(p50_off, n);
    p->model_tokens_off = stats_median(tokens_off, n);
    return true;
}

bool measured_model(const struct measured *all, struct tune *t, uint64_t seed, struct err *e)
{
    struct queries every FREED_BY(queries_fini) = {0};
    bool ok = true;

    // SIZE_MAX is the number of no pair, so no pair is left out.
    measured_queries(&every, all, t->count, SIZE_MAX);
    t->read_ms = queries_median_ms(&every.reads);
    t->turn_ms = queries_median_ms(&every.turns);

    for (size_t i = 0; ok && i < t->count; i++) {
        struct queries q FREED_BY(queries_fini) = {0};
        measured_queries(&q, all, t->count, i);
        // Without query times of other pairs, nothing can be simulated.
        ok = q.reads.count == 0 || model_pair(&all[i], &q, &t->pairs[i], seed, e);
    }
    return ok;
}

// --- what the model uses ----------------------------------------------------------------

// Records when the commit of each delivered token was acknowledged.
static void record_arrivals(struct recording *r, const struct ledger *l)
{
    r->length_ns = l->load_end_ns - l->start_ns;
    r->arrivals_ns = memory_allocate(l->plan->token_count * sizeof *r->arrivals_ns);
    for (uint32_t token = 0; token < l->plan->token_count; token++) {
        const struct txn_record *txn = ledger_txn(l, token);
        if (l->tokens[token].deliveries > 0 && txn->outcome == TXN_COMMITTED)
            r->arrivals_ns[r->count++] = txn->ended_ns - l->start_ns;
    }
    qsort(r->arrivals_ns, r->count, sizeof *r->arrivals_ns, clock_compare);
}

// Finds how long the query of each line took: from when its batch fired until the line was read.
static void record_queries(struct recording *r, const struct ledger *l)
{
    int64_t previous_ns = 0;

    for (size_t i = 0; i < l->log->line_count; i++) {
        const struct line_record *line = &l->log->lines[i];
        enum fired_by why;
        int64_t fire_ns = stages_fire_ns(l, line, &why);
        if (line->state != LINE_WHOLE || fire_ns == CLOCK_NEVER)
            continue;
        // A batch that fired before the previous line was read had to wait for that line: its time
        // is a "turn" and counts from that line on. Any other time is a "read" (queries.h), which
        // is 0 if the load heard of the last commit only after the line was read.
        if (fire_ns > previous_ns)
            queries_add(&r->queries.reads, line->tokens, clock_max(line->read_ns - fire_ns, 0));
        else
            queries_add(&r->queries.turns, line->tokens, line->read_ns - previous_ns);
        previous_ns = line->read_ns;
    }
}

void recording_take(struct recording *r, const struct ledger *l)
{
    *r = (struct recording){0};
    if (l->scenario->collector.instances != 1 || l->plan->fault_count > 0 || !l->log)
        return;
    record_arrivals(r, l);
    record_queries(r, l);
}

void recording_fini(struct recording *r)
{
    free(r->arrivals_ns);
    queries_fini(&r->queries);
    *r = (struct recording){0};
}
