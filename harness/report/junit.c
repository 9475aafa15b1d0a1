// junit.xml: one test suite per run, one case per invariant that was judged and
// per expectation, so that a CI shows which of them broke.
#include "report/report.h"

#include "report/escape.h"

static void open_case(const struct report *r, struct buf *out, const char *kind, const char *name)
{
    buf_append_str(out, "    <testcase classname=\"");
    append_escaped(out, r->scenario->name);
    buf_printf(out, ".%s\" name=\"", kind);
    append_escaped(out, name);
    buf_append_str(out, "\"");
}

static void append_repeat(const struct report *r, struct buf *out)
{
    struct buf command;

    buf_init(&command, 1 << 16);
    buf_append_str(out, "repeat: ");
    if (report_repeat(r, &command) && buf_str(&command))
        append_escaped(out, command.data);
    buf_append_str(out, "\n");
    buf_fini(&command);
}

static void invariant_case(const struct report *r, struct buf *out, enum metric_id id)
{
    const struct finding *f = &r->result->findings[id];

    open_case(r, out, "invariant", metrics[id].name);
    if (!r->result->broken[id]) {
        buf_append_str(out, "/>\n");
        return;
    }
    buf_printf(out, ">\n      <failure message=\"%s: %llu\">", metrics[id].name,
        (unsigned long long)f->count);
    for (size_t i = 0; i < f->example_count; i++) {
        append_escaped(out, f->examples[i]);
        buf_append_char(out, '\n');
    }
    append_repeat(r, out);
    buf_append_str(out, "</failure>\n    </testcase>\n");
}

static void expectation_case(const struct report *r, struct buf *out, size_t i)
{
    const struct expectation *x = &r->scenario->expect[i];
    char name[200];

    snprintf(name, sizeof name, "%s %s", x->metric, x->want);
    open_case(r, out, "expectation", name);
    if (r->result->holds[i]) {
        buf_append_str(out, "/>\n");
        return;
    }
    const struct metric *m = metric_find(x->metric);
    buf_printf(out, ">\n      <failure message=\"got %.6g %s\">", r->result->values[m->id],
        metric_unit_name(m->unit));
    append_repeat(r, out);
    buf_append_str(out, "</failure>\n    </testcase>\n");
}

// An inconclusive run proves nothing, which is an error and not a failure.
static void verdict_case(const struct report *r, struct buf *out)
{
    open_case(r, out, "verdict", "conclusive");
    if (r->result->reason_count == 0) {
        buf_append_str(out, "/>\n");
        return;
    }
    buf_append_str(out, ">\n      <error message=\"inconclusive\">");
    for (size_t i = 0; i < r->result->reason_count; i++) {
        append_escaped(out, r->result->reasons[i]);
        buf_append_char(out, '\n');
    }
    append_repeat(r, out);
    buf_append_str(out, "</error>\n    </testcase>\n");
}

struct counts {
    int tests, failures, errors;
};

static struct counts count(const struct report *r)
{
    struct counts c = {.tests = 1, .errors = r->result->reason_count > 0};

    for (enum metric_id id = 0; id < METRIC_COUNT; id++) {
        c.tests += result_judged(r->result, id);
        c.failures += result_judged(r->result, id) && r->result->broken[id];
    }
    for (size_t i = 0; i < r->scenario->expect_count; i++) {
        c.tests++;
        c.failures += !r->result->holds[i];
    }
    return c;
}

bool report_junit_suite(const struct report *r, struct buf *out, struct err *e)
{
    const struct ledger *l = r->ledger;
    struct counts c = count(r);

    buf_append_str(out, "  <testsuite name=\"");
    append_escaped(out, r->scenario->name);
    buf_printf(out, "\" tests=\"%d\" failures=\"%d\" errors=\"%d\" time=\"%.3f\">\n", c.tests,
        c.failures, c.errors, ledger_seconds(l, l->drain_end_ns));
    verdict_case(r, out);
    for (enum metric_id id = 0; id < METRIC_COUNT; id++) {
        if (result_judged(r->result, id))
            invariant_case(r, out, id);
    }
    for (size_t i = 0; i < r->scenario->expect_count; i++)
        expectation_case(r, out, i);
    return buf_append_str(out, "  </testsuite>\n") ||
           err_set(e, ERR_INTERNAL, "junit.xml would be too long");
}

bool report_junit_skipped(const char *scenario, const char *why, struct buf *out)
{
    buf_append_str(out, "  <testsuite name=\"");
    append_escaped(out, scenario);
    buf_append_str(out, "\" tests=\"1\" skipped=\"1\">\n    <testcase classname=\"");
    append_escaped(out, scenario);
    buf_append_str(out, ".verdict\" name=\"conclusive\"><skipped message=\"");
    append_escaped(out, why);
    return buf_append_str(out, "\"/></testcase>\n  </testsuite>\n");
}

bool report_junit_document(const struct buf *suites, struct buf *out)
{
    buf_append_str(out, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n");
    buf_append(out, suites->data, suites->len);
    return buf_append_str(out, "</testsuites>\n") && !suites->failed;
}

bool report_junit(const struct report *r, struct buf *out, struct err *e)
{
    struct buf suite;

    buf_init(&suite, 1 << 20);
    bool ok = report_junit_suite(r, &suite, e) &&
              (report_junit_document(&suite, out) ||
                  err_set(e, ERR_INTERNAL, "junit.xml would be too long"));
    buf_fini(&suite);
    return ok;
}
