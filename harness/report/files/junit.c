// Writes junit.xml: a test suite for each run, with a case for each judged invariant and each
// expectation, so that a CI shows which of them failed.
#include "report/files/junit.h"

#include "report/escape.h"
#include "report/report.h"

// --- parts ----------------------------------------------------------------------

void junit_open(const char *scenario, const struct junit_counts *c, double seconds, struct buf *out)
{
    buf_append_str(out, "  <testsuite name=\"");
    append_escaped(out, scenario);
    buf_printf(out, "\" tests=\"%d\" failures=\"%d\" errors=\"%d\" skipped=\"%d\" time=\"%.3f\">\n",
        c->tests, c->failures, c->errors, c->skipped, seconds);
}

void junit_case(const char *scenario, const struct junit_case *c, struct buf *out)
{
    buf_append_str(out, "    <testcase classname=\"");
    append_escaped(out, scenario);
    buf_printf(out, ".%s\" name=\"", c->kind);
    append_escaped(out, c->name);
    if (!c->trouble) {
        buf_append_str(out, "\"/>\n");
        return;
    }
    buf_printf(out, "\">\n      <%s message=\"", c->trouble);
    append_escaped(out, c->message);
    buf_append_str(out, "\">");
    append_escaped(out, c->text ? c->text : "");
    buf_printf(out, "</%s>\n    </testcase>\n", c->trouble);
}

bool junit_close(struct buf *out)
{
    return buf_append_str(out, "  </testsuite>\n");
}

// --- a run that was judged --------------------------------------------------------

// Appends a case that did not pass. Below its message it has `lines` (the examples or reasons) and
// the command that repeats the run.
static void trouble_case(const struct report *r, struct junit_case *c, const char lines[][256],
    size_t count, struct buf *out)
{
    struct buf text FREED_BY(buf_fini) = BUF_INIT(1 << 16);

    for (size_t i = 0; i < count; i++)
        buf_printf(&text, "%s\n", lines[i]);
    buf_append_str(&text, "repeat: ");
    report_repeat(r, &text);
    buf_append_str(&text, "\n");
    c->text = buf_str(&text);
    junit_case(r->scenario->name, c, out);
}

static void invariant_case(const struct report *r, struct buf *out, enum metric_id id)
{
    const struct finding *f = &r->result->findings[id];
    struct junit_case c = {.kind = "invariant", .name = metrics[id].name};
    char message[100];

    if (!r->result->broken[id]) {
        junit_case(r->scenario->name, &c, out);
        return;
    }
    snprintf(message, sizeof message, "%s: %llu", metrics[id].name, (unsigned long long)f->count);
    c.trouble = "failure";
    c.message = message;
    trouble_case(r, &c, f->examples, f->example_count, out);
}

static void expectation_case(const struct report *r, struct buf *out, size_t i)
{
    const struct expectation *x = &r->scenario->expect[i];
    const struct metric *m = metric_find(x->metric);
    char name[200], message[100], got[40];
    struct junit_case c = {.kind = "expectation", .name = name};

    snprintf(name, sizeof name, "%s %s", x->metric, x->want);
    if (r->result->holds[i]) {
        junit_case(r->scenario->name, &c, out);
        return;
    }
    snprintf(message, sizeof message, "got %s",
        metric_text(m->id, r->result->values[m->id], got, sizeof got));
    c.trouble = "failure";
    c.message = message;
    trouble_case(r, &c, NULL, 0, out);
}

// True when the run is violated and the harness gave the subject up. That alone makes a run
// violated, even if no invariant is broken, unless the plan or a broken server explains it.
static bool was_given_up(const struct report *r)
{
    return r->input->gave_up && r->result->verdict == VERDICT_VIOLATED;
}

// Appends the case that says whether the run is conclusive. An inconclusive run is an error and not
// a failure, because it proves nothing. A violated run stands, whatever else could not be judged.
static void verdict_case(const struct report *r, struct buf *out)
{
    struct junit_case c = {.kind = "verdict", .name = "conclusive"};

    if (was_given_up(r)) {
        c.trouble = "failure";
        c.message = r->input->gave_up;
    } else if (r->result->verdict == VERDICT_INCONCLUSIVE) {
        c.trouble = "error";
        c.message = "inconclusive";
    } else {
        junit_case(r->scenario->name, &c, out);
        return;
    }
    trouble_case(r, &c, r->result->reasons, r->result->reason_count, out);
}

// Counts the cases that report_junit_suite will append: one for the verdict, and one for each
// judged invariant and each expectation.
static struct junit_counts count_cases(const struct report *r)
{
    struct junit_counts c = {.tests = 1,
        .failures = was_given_up(r),
        .errors = r->result->verdict == VERDICT_INCONCLUSIVE};

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

static void append_property(const char *name, const char *value, struct buf *out)
{
    if (!value)
        return;
    buf_printf(out, "      <property name=\"%s\" value=\"", name);
    append_escaped(out, value);
    buf_append_str(out, "\"/>\n");
}

// Tells which program ran, and where. A CI keeps these properties beside the cases.
static void append_properties(const struct report *r, struct buf *out)
{
    const struct environment *v = r->environment;
    char seed[24], harness[100], postgres[24];

    snprintf(seed, sizeof seed, "%llu", (unsigned long long)r->scenario->seed);
    snprintf(harness, sizeof harness, "%s %s", v->mailproof, v->commit);
    snprintf(
        postgres, sizeof postgres, "%d.%d", v->postgres_version / 10000, v->postgres_version % 100);
    buf_append_str(out, "    <properties>\n");
    append_property("collector", r->observed->program, out);
    append_property("changed", r->observed->changed, out);
    append_property("seed", seed, out);
    append_property("mailproof", harness, out);
    append_property("postgres", postgres, out);
    append_property("result", r->folder->path, out);
    buf_append_str(out, "    </properties>\n");
}

bool report_junit_suite(const struct report *r, struct buf *out, struct err *e)
{
    const struct ledger *l = r->ledger;
    struct junit_counts c = count_cases(r);

    junit_open(r->scenario->name, &c, ledger_seconds(l, l->drain_end_ns), out);
    // JUnit's schema has the properties before the cases.
    append_properties(r, out);
    verdict_case(r, out);
    for (enum metric_id id = 0; id < METRIC_COUNT; id++) {
        if (result_judged(r->result, id))
            invariant_case(r, out, id);
    }
    for (size_t i = 0; i < r->scenario->expect_count; i++)
        expectation_case(r, out, i);
    return junit_close(out) || err_set(e, ERR_INTERNAL, "junit.xml would be too long");
}

// --- a run that was not judged ---------------------------------------------------

bool report_junit_skipped(const char *scenario, const char *why, struct buf *out)
{
    junit_open(scenario, &(struct junit_counts){.tests = 1, .skipped = 1}, 0, out);
    junit_case(scenario, &(struct junit_case){"verdict", "conclusive", "skipped", why, NULL}, out);
    return junit_close(out);
}

bool report_junit_failed(const char *scenario, const char *why, struct buf *out)
{
    junit_open(scenario, &(struct junit_counts){.tests = 1, .errors = 1}, 0, out);
    junit_case(scenario, &(struct junit_case){"verdict", "conclusive", "error", why, NULL}, out);
    return junit_close(out);
}

// --- the document -----------------------------------------------------------------

// Counts the places where an element begins, such as "<failure ". Text in the suites is escaped, so
// a '<' always begins an element.
static int junit_count(const char *suites, const char *element)
{
    int count = 0;

    for (const char *at = suites; (at = strstr(at, element)); at++)
        count++;
    return count;
}

// Returns the sum of the `time` of all suites, in seconds.
static double sum_of_times(const char *suites)
{
    double sum = 0;

    for (const char *at = suites; (at = strstr(at, "<testsuite "));) {
        // Names are escaped, so a quote always ends an attribute, and the text found here cannot be
        // a part of one.
        at = strstr(at, "\" time=\"");
        if (!at)
            break;
        sum += strtod(at + strlen("\" time=\""), NULL);
    }
    return sum;
}

bool report_junit_document(struct buf *suites, struct buf *out)
{
    const char *text = buf_str(suites);

    if (!text)
        return false;
    buf_append_str(out, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
    buf_printf(out,
        "<testsuites name=\"mailproof\" tests=\"%d\" failures=\"%d\" errors=\"%d\" "
        "skipped=\"%d\" time=\"%.3f\">\n",
        junit_count(text, "<testcase "), junit_count(text, "<failure "),
        junit_count(text, "<error "), junit_count(text, "<skipped "), sum_of_times(text));
    buf_append(out, suites->data, suites->len);
    return buf_append_str(out, "</testsuites>\n");
}

bool report_junit(const struct report *r, struct buf *out, struct err *e)
{
    struct buf suite FREED_BY(buf_fini) = BUF_INIT(1 << 20);

    return report_junit_suite(r, &suite, e) &&
           (report_junit_document(&suite, out) ||
               err_set(e, ERR_INTERNAL, "junit.xml would be too long"));
}
