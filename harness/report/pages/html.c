// Makes report.html: one file that opens from disk and needs no other.
#include "report/report.h"

#include <jansson.h>

#include "base/utf8.h"
#include "dygraphs_css.h"
#include "dygraphs_js.h"
#include "page.h"
#include "report/pages/charts.h"
#include "report/excused.h"
#include "report/pages/glance.h"
#include "report/pages/template.h"

#define PAGE_DATA_MAX (256u << 20)

// Returns the content of result.json; NULL when it could not be made.
static json_t *result_of(const struct report *r, struct err *e)
{
    struct buf text FREED_BY(buf_fini) = BUF_INIT(64u << 20);

    return report_result_json(r, &text, e) ? json_loadb(text.data, text.len, 0, NULL) : NULL;
}

// Returns the text of scenario.yaml; NULL when it could not be made.
static json_t *scenario_of(const struct report *r)
{
    struct buf text FREED_BY(buf_fini) = BUF_INIT(1 << 20);
    struct err ignored;

    return scenario_write(r->scenario, &text, &ignored) ? json_string(text.data) : NULL;
}

// Lists the names of the judged invariants: those that are marked; with NULL all.
static json_t *invariant_names(const struct report *r, const bool *marked)
{
    json_t *list = json_array();

    for (enum metric_id id = 0; id < METRIC_COUNT; id++) {
        if (result_judged(r->result, id) && (!marked || marked[id]))
            json_array_append_new(list, json_string(metrics[id].name));
    }
    return list;
}

// Lists the promises that the run broke, in the words of the documentation.
static json_t *promises_of(const struct report *r)
{
    json_t *list = json_array();
    const struct quoted *q;
    size_t at = 0;

    while ((q = report_broken_promise(r, &at)) != NULL)
        json_array_append_new(list, json_pack("{s:s, s:s}", "quote", q->quote, "url", q->url));
    return list;
}

// Lists what the verdict does not rest on, a line each.
static json_t *excused_of(const struct report *r)
{
    json_t *list = json_array();
    struct buf text FREED_BY(buf_fini) = BUF_INIT(1 << 16);

    excused_lines(r, 1, &text); // 1: with each invariant of which any part was excused
    for (char *line = buf_str(&text), *end; line && (end = strchr(line, '\n')); line = end + 1)
        json_array_append_new(list, json_stringn(line, (size_t)(end - line)));
    return list;
}

// Returns the data of the page. A part that could not be made is null, or the whole is NULL;
// is_complete_page finds both.
static json_t *page_json(const struct report *r, struct err *e)
{
    struct buf command FREED_BY(buf_fini) = BUF_INIT(1 << 16);

    report_repeat(r, &command);
    if (buf_str(&command))
        // A path may hold any bytes, and JSON only UTF-8.
        utf8_mend(command.data);
    // 'o' gives a value away to the object, 'O' only lends it; '?' makes null of NULL. A NULL
    // without '?' makes the whole object NULL.
    return json_pack("{s:o?, s:O?, s:s, s:b, s:o, s:I, s:f, s:o, s:o?, s:o, s:o, s:o?, "
                     "s:o, s:o, s:o, s:s?, s:o?, s:o}",
        "result", result_of(r, e), "cuts", r->cuts ? r->cuts->strip : NULL, "summary",
        r->scenario->summary, "queue", scenario_is_queue(r->scenario), "promised", promises_of(r),
        "start_unix_ms", (json_int_t)(r->observed->start_wall_ns / NS_PER_MS), "load_s",
        ledger_seconds(r->ledger, r->ledger->load_end_ns), "glance", glance_json(r), "series",
        charts_series(r->ledger), "server", charts_server(r), "percentiles",
        charts_percentiles(r->result), "batches", charts_batches(r->ledger), "invariants",
        invariant_names(r, NULL), "broken", invariant_names(r, r->result->broken), "doubted",
        invariant_names(r, r->result->doubted), "repeat", buf_str(&command), "scenario_yaml",
        scenario_of(r), "excused", excused_of(r));
}

// True when no part of the page's data is missing. Only `cuts` may be null.
static bool is_complete_page(const json_t *root)
{
    static const char *const parts[] = {"result", "series", "batches", "repeat", "scenario_yaml"};

    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        if (!json_object_get(root, parts[i]) || json_is_null(json_object_get(root, parts[i])))
            return false;
    }
    return true;
}

// Appends JSON for a script element. In it, "</script>" would end the element too early, and
// "<!--<script" would keep it from ending. So each '<' is written as JSON's escape.
static bool append_json(struct buf *out, const char *json)
{
    while (*json) {
        size_t len = strcspn(json, "<");
        buf_append(out, json, len);
        json += len;
        if (*json == '<') {
            buf_append_str(out, "\\u003c");
            json++;
        }
    }
    return buf_str(out) != NULL;
}

static bool append_page_data(const struct report *r, struct buf *out, struct err *e)
{
    json_t *root FREED_BY(json_decrefp) = page_json(r, e);
    char *text FREED_BY(memory_free) = NULL;

    if (is_complete_page(root))
        text = json_dumps(root, JSON_COMPACT | JSON_REAL_PRECISION(15));
    return (text && append_json(out, text)) ||
           err_set(e, ERR_INTERNAL, "cannot make the report's data");
}

static bool fill_report_page(struct buf *out, const char *data)
{
    static const char *const marks[] = {"dygraphs-style", "data", "dygraphs", "script", NULL};
    const char *rest = page_page;

    for (int mark; (mark = template_next(out, &rest, marks)) != TEMPLATE_END;) {
        const char *const texts[] = {dygraphs_css_dygraph, data, dygraphs_js_dygraph, page_paper};
        buf_append_str(out, texts[mark]);
        // The script of the page is made of four files.
        if (texts[mark] == page_paper) {
            buf_append_str(out, page_glance);
            buf_append_str(out, page_cuts);
            buf_append_str(out, page_report);
        }
    }
    return buf_str(out);
}

bool report_html(const struct report *r, struct buf *out, struct err *e)
{
    struct buf data FREED_BY(buf_fini) = BUF_INIT(PAGE_DATA_MAX);

    return append_page_data(r, &data, e) &&
           (fill_report_page(out, data.data) ||
               err_set(e, ERR_INTERNAL, "report.html would be too long"));
}
