// Writes metrics.txt in the OpenMetrics text format 1.0, for a collector of text files or a
// push gateway. Each metric of the table is a family. A metric that was not measured is left
// out, as the format asks.
#include <ctype.h>
#include <math.h>
#include <string.h>

#include "report/report.h"

// latency.p50 in ms becomes mailproof_latency_p50_seconds: OpenMetrics has base
// units only.
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
    // The suffix of a name such as rss_max_kb already says the unit.
    static const char *const said[] = {"_kb", "_ms", "_s"};
    for (size_t i = 0; m->unit != UNIT_COUNT && i < sizeof said / sizeof *said; i++) {
        char *end = bare + strlen(bare) - strlen(said[i]);
        if (end > bare && strcmp(end, said[i]) == 0)
            *end = '\0';
    }
    snprintf(f.name, sizeof f.name, "mailproof_%s%s", bare, units[m->unit].suffix);
    return f;
}

// Appends a text for use inside quotes: escapes backslash, quote and newline.
static void append_label(struct buf *out, const char *name, const char *value)
{
    buf_printf(out, "%s=\"", name);
    for (; *value; value++) {
        if (*value == '\n')
            buf_append_str(out, "\\n");
        else if (*value == '\\' || *value == '"')
            buf_printf(out, "\\%c", *value);
        else
            buf_append_char(out, *value);
    }
    buf_append_char(out, '"');
}

static void append_labels(const struct report *r, struct buf *out)
{
    buf_append_char(out, '{');
    append_label(out, "scenario", r->scenario->name);
    buf_printf(out, ",seed=\"%llu\"", (unsigned long long)r->scenario->seed);
}

static void append_metric(const struct report *r, const struct metric *m, struct buf *out)
{
    const struct family f = family_of(m);
    const double value = r->result->values[m->id];

    if (isnan(value))
        return;
    buf_printf(out, "# TYPE %s gauge\n# HELP %s %s\n%s", f.name, f.name, m->help, f.name);
    append_labels(r, out);
    buf_printf(out, "} %.9g\n", value * f.factor);
}

// Appends the four verdicts; the one of the run is 1, the others are 0.
static void append_verdict(const struct report *r, struct buf *out)
{
    buf_append_str(
        out, "# TYPE mailproof_verdict stateset\n# HELP mailproof_verdict how the run ended\n");
    for (enum verdict v = VERDICT_PASS; v <= VERDICT_MISSED; v++) {
        buf_append_str(out, "mailproof_verdict");
        append_labels(r, out);
        buf_printf(
            out, ",mailproof_verdict=\"%s\"} %d\n", verdict_name(v), v == r->result->verdict);
    }
}

bool report_openmetrics(const struct report *r, struct buf *out, struct err *e)
{
    append_verdict(r, out);
    for (enum metric_id id = 0; id < METRIC_COUNT; id++)
        append_metric(r, &metrics[id], out);
    return buf_append_str(out, "# EOF\n") || err_set(e, ERR_INTERNAL, "the metrics are too long");
}
