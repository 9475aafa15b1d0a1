#include "base/openmetrics.h"

#include <stdint.h>

const char *const openmetrics_types[] = {[OPENMETRICS_GAUGE] = "gauge",
    [OPENMETRICS_COUNTER] = "counter",
    [OPENMETRICS_HISTOGRAM] = "histogram"};

// Appends a text with the escapes that the format demands in help texts and label values.
static void append_metric_text(struct buf *out, const char *text)
{
    for (; *text; text++) {
        if (*text == '\n')
            buf_append_str(out, "\\n");
        else if (*text == '\\' || *text == '"')
            buf_printf(out, "\\%c", *text);
        else
            buf_append_char(out, *text);
    }
}

void openmetrics_family(
    struct buf *out, const char *name, enum openmetrics_type type, const char *help)
{
    buf_printf(out, "# TYPE %s %s\n# HELP %s ", name, openmetrics_types[type], name);
    append_metric_text(out, help);
    buf_append_char(out, '\n');
}

void openmetrics_sample(struct buf *out, const char *name, enum openmetrics_type type,
    const struct openmetrics_label *labels, size_t count, double value)
{
    const char *before = "{"; // what stands before the next label

    buf_printf(out, "%s%s", name, type == OPENMETRICS_COUNTER ? "_total" : "");
    for (size_t i = 0; i < count; i++) {
        if (!labels[i].value)
            continue;
        buf_printf(out, "%s%s=\"", before, labels[i].name);
        append_metric_text(out, labels[i].value);
        buf_append_char(out, '"');
        before = ",";
    }
    buf_printf(out, "%s %.15g\n", *before == ',' ? "}" : "", value);
}

void openmetrics_histogram(struct buf *out, const char *name, const double *bounds,
    const double *counts, size_t buckets, double count, double sum)
{
    double up_to = 0;

    for (size_t i = 0; i < buckets; i++) {
        // A bucket of the format counts all values up to its bound. The format wants a whole bound
        // to be written with ".0".
        up_to += counts[i];
        buf_printf(out, "%s_bucket{le=\"%.15g%s\"} %.15g\n", name, bounds[i],
            bounds[i] == (double)(int64_t)bounds[i] ? ".0" : "", up_to);
    }
    buf_printf(out, "%s_bucket{le=\"+Inf\"} %.15g\n", name, count);
    buf_printf(out, "%s_count %.15g\n%s_sum %.15g\n", name, count, name, sum);
}

bool openmetrics_end(struct buf *out)
{
    return buf_append_str(out, "# EOF\n");
}
