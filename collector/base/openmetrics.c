#include "base/openmetrics.h"

static void append_escaped(struct buf *out, const char *text)
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
    buf_printf(out, "# TYPE %s %s\n# HELP %s ", name,
        type == OPENMETRICS_COUNTER ? "counter" : "gauge", name);
    append_escaped(out, help);
    buf_append_char(out, '\n');
}

void openmetrics_sample(struct buf *out, const char *name, enum openmetrics_type type,
    const struct openmetrics_label *labels, size_t count, double value)
{
    const char *before = "{";

    buf_printf(out, "%s%s", name, type == OPENMETRICS_COUNTER ? "_total" : "");
    for (size_t i = 0; i < count; i++) {
        if (!labels[i].value)
            continue;
        buf_printf(out, "%s%s=\"", before, labels[i].name);
        append_escaped(out, labels[i].value);
        buf_append_char(out, '"');
        before = ",";
    }
    buf_printf(out, "%s %.15g\n", *before == ',' ? "}" : "", value);
}

bool openmetrics_end(struct buf *out)
{
    return buf_append_str(out, "# EOF\n");
}
