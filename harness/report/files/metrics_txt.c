// Writes metrics.txt in the OpenMetrics text format 1.0, for Prometheus' node exporter, which reads
// such files, or a push gateway. Each metric of the table is a family. A metric that was not
// measured is left out, as the format asks. The verdict is a gauge and not a stateset, because the
// node exporter would refuse a stateset in a file.
#include <ctype.h>
#include <math.h>

#include "base/openmetrics.h"
#include "report/files/metrics_text.h"
#include "report/report.h"

// The name and the unit of a metric in OpenMetrics, which has only base units: latency.p50 in ms
// becomes mailproof_latency_p50_seconds.
struct family {
    char name[80];
    double factor;
};

static struct family family_of(const struct metric *m)
{
    static const struct {
        const char *suffix;
        double factor;
    } units[] = {
        [UNIT_COUNT] = {"", 1},
        [UNIT_KB] = {"_bytes", 1024},
        [UNIT_MS] = {"_seconds", 1e-3},
        [UNIT_S] = {"_seconds", 1},
        [UNIT_PER_S] = {"_per_second", 1},
    };
    struct family f = {.factor = units[m->unit].factor};
    char bare[64];

    snprintf(bare, sizeof bare, "%s", m->name);
    for (char *c = bare; *c; c++)
        *c = (char)(isalnum((unsigned char)*c) ? *c : '_');
    // The end of a name such as rss_max_kb is its unit. The suffix for OpenMetrics takes its place.
    static const char *const endings[] = {"_kb", "_ms", "_s"};
    for (size_t i = 0; m->unit != UNIT_COUNT && i < sizeof endings / sizeof *endings; i++) {
        size_t len = strlen(bare), end_len = strlen(endings[i]);
        if (len > end_len && strcmp(bare + len - end_len, endings[i]) == 0) {
            bare[len - end_len] = '\0';
            break; // a name has one unit
        }
    }
    snprintf(f.name, sizeof f.name, "mailproof_%s%s", bare, units[m->unit].suffix);
    return f;
}

void judged_run_take(struct judged_run *j, const struct scenario *s, const struct result *result)
{
    snprintf(j->scenario, sizeof j->scenario, "%s", s->name);
    snprintf(j->seed, sizeof j->seed, "%llu", (unsigned long long)s->seed);
    j->verdict = result->verdict;
    memcpy(j->values, result->values, sizeof j->values);
}

// Appends the family of a metric, unless no run has measured it.
static void append_metric(
    struct buf *out, const struct metric *m, const struct judged_run *runs, size_t count)
{
    const struct family f = family_of(m);
    bool begun = false;

    for (size_t i = 0; i < count; i++) {
        const struct openmetrics_label labels[] = {
            {"scenario", runs[i].scenario}, {"seed", runs[i].seed}};
        const double value = runs[i].values[m->id];
        if (isnan(value))
            continue;
        if (!begun)
            openmetrics_family(out, f.name, OPENMETRICS_GAUGE, m->help);
        begun = true;
        openmetrics_sample(out, f.name, OPENMETRICS_GAUGE, labels, 2, value * f.factor);
    }
}

// Appends the four verdicts of each run; the one that it got is 1, the others are 0.
static void append_verdicts(struct buf *out, const struct judged_run *runs, size_t count)
{
    static const char name[] = "mailproof_verdict";

    if (count > 0)
        openmetrics_family(out, name, OPENMETRICS_GAUGE, "how the run ended");
    for (size_t i = 0; i < count; i++) {
        for (enum verdict v = VERDICT_PASS; v <= VERDICT_MISSED; v++) {
            const struct openmetrics_label labels[] = {
                {"scenario", runs[i].scenario}, {"seed", runs[i].seed}, {name, verdict_name(v)}};
            openmetrics_sample(
                out, name, OPENMETRICS_GAUGE, labels, 3, v == runs[i].verdict ? 1 : 0);
        }
    }
}

void metrics_text_append(struct buf *out, const struct judged_run *runs, size_t count)
{
    append_verdicts(out, runs, count);
    for (enum metric_id id = 0; id < METRIC_COUNT; id++)
        append_metric(out, &metrics[id], runs, count);
}

bool report_openmetrics(const struct report *r, struct buf *out, struct err *e)
{
    struct judged_run run;

    judged_run_take(&run, r->scenario, r->result);
    metrics_text_append(out, &run, 1);
    return openmetrics_end(out) || err_set(e, ERR_INTERNAL, "the metrics are too long");
}
