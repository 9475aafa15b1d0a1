// Writes the part of result.json beyond the keys that other programs rely on: stages, batches,
// phases, the cost of the generator and of the harness, and the server.
#include "report/report.h"

#include <jansson.h>
#include <math.h>

#include "check/intervals.h"

// Returns a number; null for one that is not finite, such as a quotient by 0.
static json_t *real_or_null(double value)
{
    return isfinite(value) ? json_real(rint(value * 1e6) / 1e6) : json_null();
}

// Returns a count; null unless it is known.
static json_t *count_or_null(bool known, double count)
{
    return known ? json_integer((json_int_t)count) : json_null();
}

// Returns a percentile in ms; null for an empty histogram.
static json_t *json_ms(const struct histogram *h, double percentile)
{
    return h->total ? real_or_null((double)histogram_percentile(h, percentile) / 1e6) : json_null();
}

static json_t *json_distribution(const struct histogram *h)
{
    return json_pack("{s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "p50", json_ms(h, 50), "p90",
        json_ms(h, 90), "p99", json_ms(h, 99), "p999", json_ms(h, 99.9), "p9999", json_ms(h, 99.99),
        "max", json_ms(h, 100), "mean",
        h->total ? real_or_null(histogram_mean(h) / 1e6) : json_null(), "stddev",
        h->total ? real_or_null(histogram_stddev(h) / 1e6) : json_null());
}

// Adds to one view of latency_ms, such as "from_intended", the figures that are no metrics.
static void add_tail(json_t *latency, const char *view, const struct histogram *h)
{
    json_t *object = json_object_get(latency, view);

    json_object_set_new(object, "p9999", json_ms(h, 99.99));
    json_object_set_new(
        object, "stddev", h->total ? real_or_null(histogram_stddev(h) / 1e6) : json_null());
}

// Adds stages_ms, the stages of which a latency is made up, and adds to latency_ms, which json.c
// has made, what is no metric.
static void add_latency(const struct report *r, json_t *root)
{
    const struct result *v = r->result;
    json_t *latency = json_object_get(root, "latency_ms");

    add_tail(latency, "from_intended", &v->from_intended);
    add_tail(latency, "from_commit", &v->from_commit);
    json_object_set_new(latency, "before_ack", json_integer((json_int_t)v->stages.before_ack));
    json_object_set_new(root, "stages_ms",
        json_pack("{s:o, s:o, s:o, s:o}", "schedule_lag", json_distribution(&v->stages.lag),
            "insert_commit", json_distribution(&v->stages.insert), "wait_in_batch",
            json_distribution(&v->stages.wait), "dequeue_write",
            json_distribution(&v->stages.dequeue)));
}

static void add_batches(const struct report *r, json_t *root)
{
    const struct stages *s = &r->result->stages;
    const struct histogram *h = &s->sizes;

    json_object_set_new(root, "batches",
        json_pack("{s:I, s:I, s:I, s:I, s:I, s:I, s:o, s:o, s:o, s:o}", "fired_by_limit",
            (json_int_t)s->fired[FIRED_BY_LIMIT], "fired_by_timeout",
            (json_int_t)s->fired[FIRED_BY_TIMEOUT], "fired_at_start",
            (json_int_t)s->fired[FIRED_AT_START], "fired_after_fault",
            (json_int_t)s->fired[FIRED_AFTER_FAULT], "fired_at_end",
            (json_int_t)s->fired[FIRED_AT_END], "fired_otherwise",
            (json_int_t)s->fired[FIRED_OTHERWISE], "size_min",
            count_or_null(h->total > 0, (double)h->min), "size_p50",
            count_or_null(h->total > 0, (double)histogram_percentile(h, 50)), "size_max",
            count_or_null(h->total > 0, (double)h->max), "size_mean",
            h->total ? real_or_null(histogram_mean(h)) : json_null()));
}

static void add_phase(void *list, const struct interval *i)
{
    json_array_append_new(
        list, json_pack("{s:s, s:f, s:f, s:I, s:I, s:I, s:o, s:o}", "name", i->phase, "from_s",
                  (double)i->from_ns / 1e9, "for_s", (double)i->length_ns / 1e9, "intended",
                  (json_int_t)i->intended, "committed", (json_int_t)i->committed, "delivered",
                  (json_int_t)i->delivered, "from_intended_ms", json_distribution(i->from_intended),
                  "from_commit_ms", json_distribution(i->from_commit)));
}

static void add_stalls(json_t *object, const struct stalls *s)
{
    json_object_set_new(object, "stalls", json_integer((json_int_t)s->count));
    json_object_set_new(object, "stall_max_ms", real_or_null((double)s->longest_ns / 1e6));
}

// Returns ns per event: a thread's seconds divided by the number of its events. Null without
// events.
static json_t *ns_each(double seconds, double count)
{
    return count > 0 ? real_or_null(seconds * 1e9 / count) : json_null();
}

static json_t *cpu_by_group(const struct observed *o)
{
    json_t *cpu = json_object();

    // Without a sampler there are no figures. Zeros would look like a machine at rest.
    for (enum usage_group g = 0; g < USAGE_GROUPS; g++)
        json_object_set_new(
            cpu, usage_group_name(g), o->sampled ? real_or_null(o->cpu_s[g]) : json_null());
    json_object_set_new(cpu, "machine_busy", o->sampled ? real_or_null(o->busy_s) : json_null());
    json_object_set_new(cpu, "machine_total", o->sampled ? real_or_null(o->total_s) : json_null());
    return cpu;
}

// Adds what the harness itself cost, so that a reader can see whether it was the bottleneck.
static void add_harness(const struct report *r, json_t *root)
{
    const struct check_input *in = r->input;
    json_t *generator = json_object_get(root, "generator");
    double tokens = (double)r->ledger->log->delivery_count;
    double lines = (double)r->ledger->log->line_count;

    json_object_set_new(
        generator, "closed_loop", json_boolean(scenario_has_closed_loop(r->scenario)));
    json_object_set_new(generator, "cpu_s", real_or_null(in->load->cpu_s));
    json_object_set_new(
        generator, "ns_per_token", ns_each(in->load->cpu_s, r->result->values[METRIC_ATTEMPTED]));
    json_object_set_new(generator, "starved", real_or_null(check_load_starved(r->ledger)));
    add_stalls(generator, &in->load->stalls);
    json_t *reader = json_pack("{s:f, s:o, s:o}", "busy_s", (double)in->reader_ns / 1e9,
        "ns_per_token", ns_each((double)in->reader_ns / 1e9, tokens), "ns_per_line",
        ns_each((double)in->reader_ns / 1e9, lines));
    if (in->reader_stalls)
        add_stalls(reader, in->reader_stalls);
    json_object_set_new(root, "reader", reader);
    json_object_set_new(
        root, "harness_rss_max_kb", json_integer((json_int_t)r->observed->harness_rss_kb));
    json_object_set_new(root, "cpu_s", cpu_by_group(r->observed));
}

// --- the server --------------------------------------------------------------

struct server_sums {
    bool seen; // the server answered at least once
    double commits, wal_bytes, checkpoints, queue_usage_max, dead_tuples_max, xmin_age_max, up_s;
    int64_t collector_rss_max_kb;
};

// Adds up the differences between neighbouring samples. So a crash, which resets the counters,
// costs only the differences beside it, and not all that was counted before.
static struct server_sums sum_up(const struct sample *samples, size_t count)
{
    struct server_sums sums = {0};

    for (size_t i = 0; i < count; i++) {
        const struct sample *now = &samples[i], *before = i ? &samples[i - 1] : NULL;
        if (now->collector_rss_kb > sums.collector_rss_max_kb)
            sums.collector_rss_max_kb = now->collector_rss_kb;
        if (!now->up)
            continue;
        sums.seen = true;
        sums.queue_usage_max = fmax(sums.queue_usage_max, now->queue_usage);
        sums.dead_tuples_max = fmax(sums.dead_tuples_max, now->dead_tuples);
        sums.xmin_age_max = fmax(sums.xmin_age_max, now->oldest_xmin_age);
        if (!before || !before->up || now->commits < before->commits ||
            now->checkpoints < before->checkpoints)
            continue;
        sums.up_s += (double)(now->at_ns - before->at_ns) / 1e9;
        sums.commits += now->commits - before->commits;
        sums.wal_bytes += now->wal_bytes - before->wal_bytes;
        sums.checkpoints += now->checkpoints - before->checkpoints;
    }
    return sums;
}

static void add_server(const struct report *r, json_t *root)
{
    const struct observed *o = r->observed;
    struct server_sums sums = sum_up(o->samples, o->count);
    double committed = r->result->values[METRIC_COMMITTED];
    // The growth of a counter is known between two samples of a server that was up.
    const bool grew = sums.up_s > 0;
    json_t *events = json_object();

    for (size_t i = 0; i < o->wait_count; i++)
        json_object_set_new(events, o->waits[i].event, json_integer((json_int_t)o->waits[i].seen));
    json_object_set_new(root, "server",
        json_pack("{s:I, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "samples",
            (json_int_t)o->count, "commits_per_s", real_or_null(sums.commits / sums.up_s),
            "wal_bytes", real_or_null(grew ? sums.wal_bytes : NAN), "wal_bytes_per_token",
            real_or_null(grew ? sums.wal_bytes / committed : NAN), "checkpoints",
            count_or_null(grew, sums.checkpoints), "notify_queue_usage_max",
            real_or_null(sums.seen ? sums.queue_usage_max : NAN), "dead_tuples_max",
            count_or_null(sums.seen, sums.dead_tuples_max), "oldest_xmin_age_max",
            count_or_null(sums.seen, sums.xmin_age_max), "collector_rss_max_kb",
            count_or_null(sums.collector_rss_max_kb > 0, (double)sums.collector_rss_max_kb),
            "wait_events", events));
}

void report_add_measurements(const struct report *r, struct json_t *root)
{
    json_t *phases FREED_BY(json_decrefp) = json_array();

    add_latency(r, root);
    add_batches(r, root);
    intervals_each_phase(r->ledger, add_phase, phases);
    json_object_set(root, "phases", phases);
    add_harness(r, root);
    add_server(r, root);
}
