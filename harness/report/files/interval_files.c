// Writes intervals.csv, with one row per second, and latency.hlog. Each second has two intervals in
// latency.hlog: the latencies from the intended time, and those from the commit. Each phase has
// one, from the intended time. An interval without latencies is left out.
#include "report/report.h"

#include "check/intervals.h"
#include "measure/hlog.h"

struct writer {
    const struct report *report;
    struct buf *out;
    size_t sample; // index of the next sample that sample_of takes
    bool ok;       // false: a histogram could not be written, *e says why
    struct err *e;
};

static const char csv_head[] =
    "second,intended,committed,delivered,backlog,lines,latency_p50_ms,latency_p99_ms,"
    "latency_max_ms,server_up,server_commits,server_wal_bytes,notify_queue_usage,dead_tuples,"
    "oldest_xmin_age,checkpoints,active_backends,machine_busy,harness_cpu_s,collector_cpu_s,"
    "collector_backends_cpu_s,load_backends_cpu_s,server_cpu_s,collector_rss_kb\n";

static void put_latency(struct buf *out, const struct histogram *h)
{
    if (h->total == 0)
        buf_append_str(out, ",,,");
    else
        buf_printf(out, ",%.3f,%.3f,%.3f", (double)histogram_percentile(h, 50) / 1e6,
            (double)histogram_percentile(h, 99) / 1e6, (double)h->max / 1e6);
}

// Takes the samples before until_ns that no earlier call took. Returns the last of them; NULL:
// there is none. *before: the sample since which its counters count, which is the last one that
// earlier calls took, or else the first of all; NULL: the returned sample is itself the first.
static const struct sample *sample_of(
    struct writer *w, int64_t until_ns, const struct sample **before)
{
    const struct sample *samples = w->report->observed->samples;
    size_t count = w->report->observed->count;
    size_t earlier = w->sample > 0 ? w->sample - 1 : 0;
    const struct sample *found = NULL;

    while (w->sample < count && samples[w->sample].at_ns < until_ns)
        found = &samples[w->sample++];
    *before = found && found > samples + earlier ? samples + earlier : NULL;
    return found;
}

// Writes server_up (1) and the server's figures. Counters are written as their growth since
// `before`, or empty without `before`, if the server was away then, or if a crash has reset them.
static void put_counters(struct buf *out, const struct sample *now, const struct sample *before)
{
    bool comparable = before && before->up && now->commits >= before->commits;

    if (comparable)
        buf_printf(out, ",1,%.0f,%.0f", now->commits - before->commits,
            now->wal_bytes - before->wal_bytes);
    else
        buf_append_str(out, ",1,,");
    buf_printf(out, ",%.6f,%.0f,%.0f", now->queue_usage, now->dead_tuples, now->oldest_xmin_age);
    if (comparable && now->checkpoints >= before->checkpoints)
        buf_printf(out, ",%.0f", now->checkpoints - before->checkpoints);
    else
        buf_append_char(out, ',');
    buf_printf(out, ",%d", now->active);
}

// Writes the columns from server_up on, which stay empty without a sample.
static void put_sample(struct buf *out, const struct sample *now, const struct sample *before)
{
    if (!now) {
        buf_append_str(out, ",,,,,,,,,,,,,,,\n");
        return;
    }
    // While the server is away it has no counters, but its processes and the machine still use
    // processors.
    if (now->up)
        put_counters(out, now, before);
    else
        buf_append_str(out, ",0,,,,,,,");
    // The first sample has none before it to count from.
    double total_s = before ? now->total_s - before->total_s : 0;
    if (before && total_s > 0)
        buf_printf(out, ",%.3f", (now->busy_s - before->busy_s) / total_s);
    else
        buf_append_char(out, ',');
    for (enum usage_group g = 0; g < USAGE_GROUPS; g++)
        buf_printf(out, ",%.2f", now->cpu_s[g] - (before ? before->cpu_s[g] : 0));
    buf_printf(out, ",%" PRId64 "\n", now->collector_rss_kb);
}

static void put_interval_row(void *arg, const struct interval *i)
{
    struct writer *w = arg;
    const struct sample *before, *now;
    int64_t until_ns = w->report->ledger->start_ns + i->from_ns + i->length_ns;

    buf_printf(w->out, "%" PRId64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRId64 ",%" PRIu64,
        i->from_ns / NS_PER_S, i->intended, i->committed, i->delivered, i->backlog, i->lines);
    // A closed loop has no intended times, so its latency counts from the commit.
    put_latency(w->out, i->from_intended->total ? i->from_intended : i->from_commit);
    now = sample_of(w, until_ns, &before);
    put_sample(w->out, now, before);
}

bool report_intervals_csv(const struct report *r, struct buf *out, struct err *e)
{
    struct writer w = {.report = r, .out = out};
    const struct sample *ignored;

    (void)e;
    buf_append_str(out, csv_head);
    // This takes the samples before the load, so that the first row counts from the last of them.
    sample_of(&w, r->ledger->start_ns, &ignored);
    intervals_each_step(r->ledger, NS_PER_S, put_interval_row, &w);
    return true;
}

// --- latency.hlog ------------------------------------------------------------

static void put_histogram(
    struct writer *w, const struct interval *i, const char *tag, const struct histogram *h)
{
    struct hlog_interval interval = {
        .tag = tag, .from_ns = i->from_ns, .length_ns = i->length_ns, .histogram = h};

    w->ok = w->ok && (h->total == 0 || hlog_write_interval(w->out, &interval, w->e));
}

static void put_second(void *arg, const struct interval *i)
{
    put_histogram(arg, i, "from_intended", i->from_intended);
    put_histogram(arg, i, "from_commit", i->from_commit);
}

static void put_phase(void *arg, const struct interval *i)
{
    char tag[96];

    snprintf(tag, sizeof tag, "phase.%.64s", i->phase);
    put_histogram(arg, i, tag, i->from_intended);
}

bool report_latency_log(const struct report *r, struct buf *out, struct err *e)
{
    struct writer w = {.report = r, .out = out, .e = e};

    w.ok = hlog_write_header(out, r->scenario->name, r->observed->start_wall_ns, e);
    intervals_each_step(r->ledger, NS_PER_S, put_second, &w);
    intervals_each_phase(r->ledger, put_phase, &w);
    return w.ok;
}
