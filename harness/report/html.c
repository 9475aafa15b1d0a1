// report.html: one file that opens from disk, with everything it shows inside.
#include "report/report.h"

#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "dygraphs_css.h"
#include "dygraphs_js.h"
#include "page.h"
#include "report/series.h"

static json_t *number(double value)
{
    return isnan(value) ? json_null() : json_real(rint(value * 1e4) / 1e4);
}

static json_t *parse(bool made, struct buf *text)
{
    return made && buf_str(text) ? json_loads(text->data, 0, NULL) : NULL;
}

static json_t *result_of(const struct report *r, struct err *e)
{
    struct buf text;

    buf_init(&text, 64u << 20);
    json_t *result = parse(report_result_json(r, &text, e), &text);
    buf_fini(&text);
    return result;
}

static json_t *scenario_of(const struct report *r)
{
    struct buf text;

    buf_init(&text, 1 << 20);
    json_t *yaml =
        scenario_write(r->scenario, &text) && buf_str(&text) ? json_string(text.data) : NULL;
    buf_fini(&text);
    return yaml;
}

static json_t *series_of(const struct series *s)
{
    static const char *const names[] = {
        "t", "offered", "achieved", "delivered", "backlog", "p50", "p99", "max"};
    json_t *object = json_object();
    double per_s = 1e9 / (double)s->step_ns;

    for (size_t k = 0; k < sizeof names / sizeof *names; k++) {
        json_t *column = json_array();
        for (size_t i = 0; i < s->count; i++) {
            const struct series_point *p = &s->points[i];
            const double values[] = {(double)p->at_ns / 1e9, p->offered * per_s,
                p->achieved * per_s, p->delivered * per_s, (double)p->backlog, p->p50_ms, p->p99_ms,
                p->max_ms};
            json_array_append_new(column, number(values[k]));
        }
        json_object_set_new(object, names[k], column);
    }
    return object;
}

// The curve on a scale of nines: 1 is 90%, 2 is 99%, up to where one value in
// the run would lie.
static json_t *percentiles_of(const struct result *r)
{
    enum { STEPS_PER_NINE = 20 };
    json_t *list = json_array();
    const struct histogram *h = &r->from_intended;
    int steps = h->total > 0 ? (int)ceil(STEPS_PER_NINE * log10((double)h->total)) : -1;

    for (int i = 0; i <= steps; i++) {
        double nines = (double)i / STEPS_PER_NINE;
        double percentile = 100 * (1 - pow(10, -nines));
        bool acknowledged = r->from_commit.total > 0;
        json_array_append_new(
            list, json_pack("{s:o, s:o, s:o}", "nines", number(nines), "from_intended",
                      number((double)histogram_percentile(h, percentile) / 1e6), "from_commit",
                      number(acknowledged
                                 ? (double)histogram_percentile(&r->from_commit, percentile) / 1e6
                                 : NAN)));
    }
    return list;
}

static json_t *batches_of(const struct ledger *l)
{
    size_t most = 0;
    json_t *list = json_array();

    for (size_t i = 0; i < l->log->line_count; i++)
        most = l->log->lines[i].tokens > most ? l->log->lines[i].tokens : most;
    size_t *lines = calloc(most + 1, sizeof *lines);
    for (size_t i = 0; lines && i < l->log->line_count; i++)
        lines[l->log->lines[i].tokens]++;
    for (size_t size = 1; lines && size <= most; size++)
        json_array_append_new(list,
            json_pack("{s:I, s:I}", "tokens", (json_int_t)size, "lines", (json_int_t)lines[size]));
    free(lines);
    return list;
}

static json_t *names_of(const struct report *r, bool broken_only)
{
    json_t *list = json_array();

    for (enum metric_id id = 0; id < METRIC_COUNT; id++) {
        bool judged = metrics[id].invariant && !isnan(r->result->values[id]);
        if (judged && (!broken_only || r->result->broken[id]))
            json_array_append_new(list, json_string(metrics[id].name));
    }
    return list;
}

static char *page_data(const struct report *r, struct err *e)
{
    struct series series = {0};
    struct buf command;
    char *text = NULL;

    if (!series_make(&series, r->ledger, e))
        return NULL;
    buf_init(&command, 1 << 16);
    report_repeat(r, &command);
    json_t *root = json_pack("{s:o?, s:s, s:o, s:o, s:o, s:o, s:o, s:s, s:o?}", "result",
        result_of(r, e), "summary", r->scenario->summary, "series", series_of(&series),
        "percentiles", percentiles_of(r->result), "batches", batches_of(r->ledger), "invariants",
        names_of(r, false), "broken", names_of(r, true), "repeat", buf_str(&command),
        "scenario_yaml", scenario_of(r));
    // With its slashes escaped no text can end the script element it stands in.
    if (root)
        text = json_dumps(root, JSON_COMPACT | JSON_ESCAPE_SLASH | JSON_REAL_PRECISION(15));
    if (!text)
        err_set(e, ERR_INTERNAL, "cannot make the report's data");
    json_decref(root);
    buf_fini(&command);
    series_fini(&series);
    return text;
}

// Copies the page, with what each {{name}} stands for in its place.
static bool fill_page(struct buf *out, const char *data)
{
    const struct {
        const char *mark;
        const char *texts[2];
    } marks[] = {
        {"{{style}}", {dygraphs_css_dygraph, page_style}},
        {"{{data}}", {data, ""}},
        {"{{dygraph}}", {dygraphs_js_dygraph, ""}},
        {"{{script}}", {page_report, ""}},
    };
    const char *rest = page_page;

    for (size_t i = 0; i < sizeof marks / sizeof *marks; i++) {
        const char *at = strstr(rest, marks[i].mark);
        buf_append(out, rest, (size_t)(at - rest));
        buf_append_str(out, marks[i].texts[0]);
        buf_append_str(out, marks[i].texts[1]);
        rest = at + strlen(marks[i].mark);
    }
    return buf_append_str(out, rest) && !out->failed;
}

bool report_html(const struct report *r, struct buf *out, struct err *e)
{
    char *data = page_data(r, e);
    bool ok =
        data && (fill_page(out, data) || err_set(e, ERR_INTERNAL, "report.html would be too long"));

    free(data);
    return ok;
}
