#include "report/report.h"

#include "measure/hlog.h"
#include "report/escape.h"

#define REPORT_MAX (64u << 20)

typedef bool write_function(const struct report *r, struct buf *out, struct err *e);

// Appends a distribution of latencies in ms; 1e6 is the number of ns in one.
static bool append_hgrm(const struct histogram *h, struct buf *out, struct err *e)
{
    return hgrm_write(out, h, 1e6) || err_set(e, ERR_INTERNAL, "the distribution is too long");
}

static bool append_intended_hgrm(const struct report *r, struct buf *out, struct err *e)
{
    return append_hgrm(&r->result->from_intended, out, e);
}

static bool append_commit_hgrm(const struct report *r, struct buf *out, struct err *e)
{
    return append_hgrm(&r->result->from_commit, out, e);
}

static bool append_observed(const struct report *r, struct buf *out, struct err *e)
{
    return observed_write(r->observed, r->promises, r->ledger->start_ns, out, e);
}

// The files that report_write writes, in their order. result.json is the last, so a folder with a
// result.json has the others, too.
struct file {
    const char *name;
    write_function *write;
};

static const struct file files[] = {
    {"env.json", report_env_json},
    {"observed.json", append_observed},
    {"intervals.csv", report_intervals_csv},
    {"latency.hlog", report_latency_log},
    {"latency.from_intended.hgrm", append_intended_hgrm},
    {"latency.from_commit.hgrm", append_commit_hgrm},
    {"junit.xml", report_junit},
    {"summary.md", report_summary},
    {"metrics.txt", report_openmetrics},
    {"report.html", report_html},
    {"result.json", report_result_json},
};

static const struct file traces[] = {
    {"trace.json", report_trace_chrome},
    {"trace.otlp.json", report_trace_otlp},
};

static bool write_files(
    const struct report *r, const struct file *list, size_t count, struct err *e)
{
    struct buf out FREED_BY(buf_fini) = BUF_INIT(REPORT_MAX);
    bool ok = true;

    for (size_t i = 0; ok && i < count; i++) {
        buf_clear(&out);
        ok = list[i].write(r, &out, e) && folder_write(r->folder->path, list[i].name, &out, e);
    }
    return ok;
}

// True when the run broke an invariant that belongs to the promise, a bit of metrics[].promise.
static bool breaks_promise(const struct result *result, int promise)
{
    for (enum metric_id id = 0; id < METRIC_COUNT; id++) {
        if (result->broken[id] && (metrics[id].promise & (unsigned)promise))
            return true;
    }
    return false;
}

const struct quoted *report_broken_promise(const struct report *r, size_t *at)
{
    while (r->promises && *at < r->promises->count) {
        const struct quoted *q = &r->promises->items[(*at)++];
        if (breaks_promise(r->result, q->flag))
            return q;
    }
    return NULL;
}

bool report_write(const struct report *r, struct err *e)
{
    assert(r->silence && r->observed && r->environment && r->folder);
    return write_files(r, files, sizeof files / sizeof *files, e);
}

bool report_write_traces(const struct report *r, struct err *e)
{
    return write_files(r, traces, sizeof traces / sizeof *traces, e);
}

bool report_repeat_of(
    const char *path, const struct scenario *s, const char *collector, struct buf *out)
{
    buf_append_str(out, "mailproof run ");
    append_word(out, path);
    if (collector) {
        buf_append_str(out, " --collector ");
        append_word(out, collector);
    }
    // A conninfo may hold a password, so it is not stored, and the user must fill it in.
    if (strcmp(s->postgres.provider, "url") == 0)
        buf_append_str(out, " --postgres CONNINFO");
    return !out->failed;
}

bool report_repeat(const struct report *r, struct buf *out)
{
    return report_repeat_of(r->folder->path, r->scenario, r->observed->collector, out) &&
           (!r->cuts || buf_printf(out, " %s", r->cuts->options));
}
