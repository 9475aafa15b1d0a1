// Writes the summary.md of one run, which a CI shows on the page of a job.
#include "report/pages/glance.h"

#include <math.h>

#include "report/escape.h"
#include "report/excused.h"

#define REPEAT_MAX (1u << 16)

// Writes a row for each view of latency. The six metrics of a row follow each other in the table of
// metrics, from the p50 to the mean.
static void append_latencies(const struct report *r, struct buf *out)
{
    static const struct {
        const char *name;
        enum metric_id first;
    } rows[] = {
        {"from the intended insert", METRIC_LATENCY_P50},
        {"from the commit", METRIC_COMMIT_LATENCY_P50},
    };

    buf_append_str(out, "\n| latency, ms | p50 | p90 | p99 | p99.9 | max | mean |\n"
                        "|---|---|---|---|---|---|---|\n");
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        buf_printf(out, "| %s |", rows[i].name);
        for (int k = 0; k < 6; k++) {
            double value = r->result->values[(int)rows[i].first + k];
            if (isnan(value))
                buf_append_str(out, " – |");
            else
                buf_printf(out, " %.2f |", value);
        }
        buf_append_char(out, '\n');
    }
}

// Appends a table of the judged invariants, folded away: the broken ones are already listed above.
static void append_invariants(const struct report *r, struct buf *out)
{
    int count = 0, holding = 0, unjudged = 0;

    for (enum metric_id id = 0; id < METRIC_COUNT; id++) {
        // An invariant of which nothing was judged is counted apart, in `unjudged`.
        bool judged = result_judged(r->result, id) && !excused_whole(r, id);
        count += judged;
        holding += judged && !r->result->broken[id] && !r->result->doubted[id];
        unjudged += excused_whole(r, id);
    }
    buf_printf(out, "\n<details><summary>%d of %d invariants hold", holding, count);
    if (unjudged > 0)
        buf_printf(out, "; %d not judged", unjudged);
    buf_append_str(out, "</summary>\n\n| invariant | count | | judged |\n|---|---|---|---|\n");
    for (enum metric_id id = 0; id < METRIC_COUNT; id++) {
        char text[200] = "nothing to judge";
        if (r->result->judged[id].of > 0)
            judged_text(r->result, id, text, sizeof text);
        if (result_judged(r->result, id))
            buf_printf(out, "| %s | %.0f | %s | %s |\n", metrics[id].name, r->result->values[id],
                r->result->broken[id]    ? "**broken**"
                : r->result->doubted[id] ? "cannot be judged"
                : excused_whole(r, id)   ? "not judged"
                                         : "holds",
                text);
    }
    buf_append_str(out, "\n</details>\n");
}

// Appends a line that ends with a text, which may quote bytes of a collector.
static void append_line(struct buf *out, const char *before, const char *text)
{
    buf_append_str(out, before);
    append_markdown(out, text);
    buf_append_char(out, '\n');
}

// Lists what the verdict does not rest on, above the fold.
static void append_excused(const struct report *r, struct buf *out)
{
    struct buf text FREED_BY(buf_fini) = BUF_INIT(1 << 16);

    excused_lines(r, 1, &text); // 1: also invariants of which only a part was excused
    if (buf_str(&text) && text.len > 0)
        buf_append_str(out, "\nNot judged, or excused:\n\n");
    for (char *line = buf_str(&text), *end; line && (end = strchr(line, '\n')); line = end + 1) {
        *end = '\0';
        append_line(out, "- ", line);
    }
}

static void append_expectations(const struct report *r, struct buf *out)
{
    if (r->scenario->expect_count == 0)
        return;
    buf_append_str(out, "\n| expected | got | |\n|---|---|---|\n");
    for (size_t i = 0; i < r->scenario->expect_count; i++) {
        const struct expectation *x = &r->scenario->expect[i];
        const struct metric *m = metric_find(x->metric);
        char got[40];
        buf_printf(out, "| `%s %s` | %s | %s |\n", x->metric, x->want,
            metric_text(m->id, r->result->values[m->id], got, sizeof got),
            r->result->holds[i]               ? "holds"
            : isnan(r->result->values[m->id]) ? "cannot be judged"
                                              : "**does not hold**");
    }
}

// Appends for each broken invariant where its tokens lie in the run, and a few of them as examples.
static void append_examples(const struct report *r, struct buf *out)
{
    for (enum metric_id id = 0; id < METRIC_COUNT; id++) {
        const struct finding *f = &r->result->findings[id];
        size_t before = out->len;
        if (r->result->broken[id])
            glance_groups(r, id, out);
        // Where the tokens lie comes first: it tells more than a few examples.
        if (out->len > before)
            buf_append_str(out, "\n\n");
        for (size_t i = 0; r->result->broken[id] && i < f->example_count; i++) {
            buf_printf(out, "%s- %s", i ? "" : "\n", metrics[id].name);
            append_line(out, ": ", f->examples[i]);
        }
    }
}

static void append_silence(const struct silence *s, struct buf *out)
{
    if (!s->what[0])
        return;
    buf_printf(out, "\n**%s%s%s**\n", s->what, s->cause[0] ? "; " : "", s->cause);
    // A line that came only once is not common.
    if (s->times > 1)
        buf_printf(out, "\nIts log says %zu %s:\n\n    %s\n", s->times,
            NOUN(s->times, "time", "times"), s->common);
    if (s->end_count > 0)
        buf_append_str(out, "\nIts log ends with:\n\n");
    for (size_t i = 0; i < s->end_count; i++)
        buf_printf(out, "    %s\n", s->ends[i]);
}

// Writes the promises that the run broke, in the words of the documentation.
static void append_promises(const struct report *r, struct buf *out)
{
    const struct quoted *q;
    size_t at = 0;

    while ((q = report_broken_promise(r, &at)) != NULL) {
        append_line(out, "\nIts documentation promises:\n\n> ", q->quote);
        buf_append_str(out, "\nat ");
        append_markdown_url(out, q->url);
        buf_append_char(out, '\n');
    }
}

static void append_named(struct buf *out, const char *name, const char *code)
{
    buf_printf(out, "\n%s: ", name);
    append_code(out, code);
    buf_append_char(out, '\n');
}

static void append_deliveries(const struct report *r, struct buf *out)
{
    const double *v = r->result->values;

    buf_printf(out, "\n%.0f %s committed, %.0f expected, %.0f delivered", v[METRIC_COMMITTED],
        scenario_is_queue(r->scenario) ? "jobs" : "tokens", v[METRIC_EXPECTED],
        v[METRIC_DELIVERED]);
    if (v[METRIC_LEFT_BEHIND] > 0)
        buf_printf(out, ", %.0f left behind on the old leader's timeline", v[METRIC_LEFT_BEHIND]);
    if (v[METRIC_REDELIVERED] > 0)
        buf_printf(out, ", %.0f repeated because the server lost the cursor's move",
            v[METRIC_REDELIVERED]);
    buf_printf(out, "; %zu %s; %s.\n", r->ledger->fault_count,
        NOUN(r->ledger->fault_count, "fault", "faults"), r->environment->proof.verdict);
}

static void append_trials(const struct report_cuts *c, struct buf *out)
{
    buf_printf(out,
        "\n%zu %s, %zu reached their message, %zu broke an invariant, %zu inconclusive; each "
        "is a row of cuts.csv.\n",
        c->tried, NOUN(c->tried, "trial", "trials"), c->reached, c->broken, c->inconclusive);
}

bool report_summary(const struct report *r, struct buf *out, struct err *e)
{
    struct buf repeat FREED_BY(buf_fini) = BUF_INIT(REPEAT_MAX);

    buf_printf(out, "## %s: %s\n", r->scenario->name, verdict_name(r->result->verdict));
    append_line(out, "\n", r->scenario->summary);
    append_silence(r->silence, out);
    for (size_t i = 0; i < r->result->reason_count; i++)
        append_line(out, "\n- because ", r->result->reasons[i]);
    if (r->input->gave_up)
        append_line(out, "\n- because ", r->input->gave_up);
    // A run of trials (--every-cut, --every-kill) has no latencies of its own, but a table of its
    // trials.
    if (r->cuts)
        append_trials(r->cuts, out);
    else
        append_deliveries(r, out);
    append_examples(r, out);
    append_promises(r, out);
    append_excused(r, out);
    append_invariants(r, out);
    append_expectations(r, out);
    if (!r->cuts)
        append_latencies(r, out);
    if (r->observed->program)
        append_named(
            out, scenario_is_queue(r->scenario) ? "Queue" : "Collector", r->observed->program);
    if (r->observed->changed)
        append_named(out, "Changed", r->observed->changed);
    report_repeat(r, &repeat);
    bool ok = buf_str(&repeat) != NULL;
    if (ok)
        append_named(out, "Repeat", repeat.data);
    return (ok && !out->failed) || err_set(e, ERR_INTERNAL, "summary.md would be too long");
}
