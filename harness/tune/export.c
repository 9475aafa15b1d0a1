#include "tune/export.h"

#include <math.h>

#include "report/files/parse_json.h"
#include "scenario/units.h"
#include "tune/pair_figures.h"

bool export_markdown(const struct tune *t, struct buf *out)
{
    buf_append_str(out, "| limit | timeout |");
    for (enum tune_figure f = 0; f < FIGURE_SHOWN; f++)
        buf_printf(out, " %s |", figure_texts[f].title);
    buf_append_str(out, " 95% within | runs | |\n|--:|--:|");
    for (enum tune_figure f = 0; f < FIGURE_SHOWN; f++)
        buf_append_str(out, "--:|");
    buf_append_str(out, "--:|--:|---|\n");
    for (size_t i = 0; i < t->count; i++) {
        const struct tune_pair *p = &t->pairs[i];
        buf_printf(out, "| %d | ", p->limit);
        units_print_duration(out, p->timeout_ns);
        for (enum tune_figure f = 0; f < FIGURE_SHOWN; f++) {
            buf_append_str(out, " | ");
            figure_print(p, f, "", out);
        }
        buf_append_str(out, " | ");
        precision_print(&p->judged, "", out);
        buf_printf(out, " | %zu | %s |\n", p->runs - p->inconclusive, tune_remark(t, p));
    }
    buf_append_char(out, '\n');
    return tune_print_recommendation(t, out);
}

// --- JSON -----------------------------------------------------------------------------

static json_t *export_number(double value)
{
    return isfinite(value) ? json_real(value) : json_null();
}

static json_t *pair_json(const struct tune *t, const struct tune_pair *p)
{
    json_t *object =
        json_pack("{s:i, s:f}", "limit", p->limit, "timeout_ms", (double)p->timeout_ns / NS_PER_MS);

    for (enum tune_figure f = 0; f < FIGURE_COUNT; f++)
        json_object_set_new(object, figure_texts[f].key, export_number(figure_of(p, f)));
    json_object_set_new(object, "model_p50_off", export_number(p->model_p50_off));
    json_object_set_new(object, "model_tokens_off", export_number(p->model_tokens_off));
    // An end of the interval is 0 or infinite when it is not known; JSON gets null then.
    json_object_set_new(object, "judged",
        json_pack("{s:o, s:o, s:o}", "median", export_number(p->judged.median), "low",
            p->judged.low > 0 ? export_number(p->judged.low) : json_null(), "high",
            export_number(p->judged.high)));
    json_object_set_new(object, "runs", json_integer((json_int_t)p->runs));
    json_object_set_new(object, "inconclusive", json_integer((json_int_t)p->inconclusive));
    json_object_set_new(object, "state", json_string(p->state ? p->state : ""));
    json_object_set_new(object, "broken", json_boolean(p->broken));
    json_object_set_new(object, "meets", json_boolean(p->meets));
    json_object_set_new(object, "on_front", json_boolean(p->on_front));
    json_object_set_new(object, "recommended", json_boolean(p == tune_recommend(t)));
    return object;
}

// Returns as a JSON string what `print` appends; JSON null when it fails.
static json_t *printed_text(
    const struct tune *t, bool (*print)(const struct tune *t, struct buf *out))
{
    struct buf text FREED_BY(buf_fini) = BUF_INIT(1 << 16);

    return print(t, &text) && buf_str(&text) ? json_string(text.data) : json_null();
}

bool export_json(const struct tune *t, struct buf *out)
{
    json_t *pairs = json_array();

    for (size_t i = 0; i < t->count; i++)
        json_array_append_new(pairs, pair_json(t, &t->pairs[i]));
    json_t *objective = t->objective
                            ? json_sprintf("%s %s", t->objective->metric, t->objective->want)
                            : json_null();
    json_t *root = json_pack("{s:i, s:s, s:b, s:o, s:s, s:o, s:o, s:{s:o, s:o}}", "schema", 1,
        "scenario", t->scenario, "simulated", t->simulated, "objective", objective, "judged",
        t->objective ? t->objective->metric : "latency.p99", "pairs", pairs, "recommendation",
        printed_text(t, tune_print_recommendation), "model", "read_ms", export_number(t->read_ms),
        "turn_ms", export_number(t->turn_ms));
    return append_root(root, JSON_INDENT(2) | JSON_REAL_PRECISION(6), out);
}

// --- CSV ------------------------------------------------------------------------------

// Appends a comma and the value; only the comma when the value is not known.
static void print_number(double value, struct buf *out)
{
    buf_append_char(out, ',');
    if (isfinite(value))
        buf_printf(out, "%.6g", value);
}

bool export_csv(const struct tune *t, struct buf *out)
{
    buf_append_str(out, "limit,timeout_ms");
    for (enum tune_figure f = 0; f < FIGURE_COUNT; f++)
        buf_printf(out, ",%s", figure_texts[f].key);
    buf_append_str(out, ",low,high,runs,inconclusive,meets,on_front,recommended\n");
    for (size_t i = 0; i < t->count; i++) {
        const struct tune_pair *p = &t->pairs[i];
        buf_printf(out, "%d,%.6g", p->limit, (double)p->timeout_ns / NS_PER_MS);
        for (enum tune_figure f = 0; f < FIGURE_COUNT; f++)
            print_number(figure_of(p, f), out);
        print_number(p->judged.low > 0 ? p->judged.low : NAN, out);
        print_number(p->judged.high, out);
        buf_printf(out, ",%zu,%zu,%d,%d,%d\n", p->runs, p->inconclusive, p->meets, p->on_front,
            p == tune_recommend(t));
    }
    return !out->failed;
}
