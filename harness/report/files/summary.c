#include "report/files/summary.h"

#include <math.h>

#include "os/paths.h"
#include "report/escape.h"
#include "report/folder.h"

#define SUMMARY_MAX (16u << 20)
// Length after which no more summaries of runs are folded in: a job's page at GitHub holds 1 MiB.
#define FOLDED_MAX (800u << 10)

static bool has_passed(const struct suite_run *r)
{
    return r->state == SUITE_JUDGED && r->verdict == VERDICT_PASS;
}

static bool was_skipped(const struct suite_run *r)
{
    return r->state == SUITE_SKIPPED;
}

// Calls `put` for each run that neither passed nor was skipped, the worst first.
static void each_bad(const struct suite *s, struct buf *out,
    void (*put)(const struct suite *s, const struct suite_run *r, struct buf *out))
{
    for (int severity = SUITE_SEVERITIES - 1; severity > 0; severity--) {
        for (size_t i = 0; i < s->run_count; i++) {
            const struct suite_run *r = &s->runs[i];
            if (suite_severity(r) == severity)
                put(s, r, out);
        }
    }
}

// Puts the run's scenario, as a link to the run's page if that lies below the folder of summary.md.
// The link is relative to that folder.
static void put_name(const struct suite *s, const struct suite_run *r, struct buf *out)
{
    size_t len = strlen(s->out);

    if (r->folder[0] && strncmp(r->folder, s->out, len) == 0 && r->folder[len] == '/') {
        buf_printf(out, "[%s](", r->scenario);
        append_url(out, r->folder + len + 1);
        buf_append_str(out, "/report.html)");
    } else {
        buf_append_str(out, r->scenario);
    }
}

// Puts a row of a run that did not pass.
static void put_summary_row(const struct suite *s, const struct suite_run *r, struct buf *out)
{
    buf_append_str(out, "| ");
    put_name(s, r, out);
    buf_printf(out, " | %s | ", suite_run_name(r));
    append_markdown(out, r->broke);
    buf_append_str(out, " |\n");
}

// Puts the run's own summary into a fold. GitHub renders Markdown in a fold only after an empty
// line.
static void put_details(const struct suite *s, const struct suite_run *r, struct buf *out)
{
    char path[PATH_MAX];
    struct err ignored;

    (void)s;
    buf_printf(out, "\n<details><summary>%s: %s</summary>\n\n", r->scenario, suite_run_name(r));
    if (r->why[0]) {
        append_markdown(out, r->why);
        buf_append_char(out, '\n');
    }
    // A page that is too long would be refused as a whole, so the remaining runs are only named. A
    // run that failed has no summary.
    if (out->len > FOLDED_MAX)
        buf_printf(out, "See %s.\n", r->folder);
    else
        (void)(r->folder[0] && path_join(path, r->folder, "summary.md", &ignored) &&
               path_read(path, out, ERR_SYSTEM, &ignored));
    buf_append_str(out, "\n</details>\n");
}

static size_t count_runs_that(const struct suite *s, bool (*belongs)(const struct suite_run *r))
{
    size_t count = 0;

    for (size_t i = 0; i < s->run_count; i++)
        count += belongs(&s->runs[i]);
    return count;
}

// Puts the runs for which `belongs` is true into a fold, because hundreds of scenarios that passed
// would hide the few that did not. Without such a run there is no fold.
static void put_fold(const struct suite *s, bool (*belongs)(const struct suite_run *r),
    const char *title, struct buf *out)
{
    const size_t count = count_runs_that(s, belongs);

    if (count == 0)
        return;
    buf_printf(out, "\n<details><summary>%zu %s</summary>\n\n", count, title);
    for (size_t i = 0; i < s->run_count; i++) {
        const struct suite_run *r = &s->runs[i];
        if (!belongs(r))
            continue;
        buf_append_str(out, "- ");
        put_name(s, r, out);
        if (r->why[0]) {
            buf_append_str(out, ": ");
            append_markdown(out, r->why);
        }
        buf_append_char(out, '\n');
    }
    buf_append_str(out, "\n</details>\n");
}

// The segments that ended within the same hour of a soak.
struct hour {
    size_t segments, passed;
    double lost, duplicated, p99_ms; // sums of lost and duplicated, largest latency; NAN: nothing
                                     // measured
    const struct suite_run *worst;   // the first of its worst segments, whose page is linked
};

static void add_segment(struct hour *h, const struct suite_run *r)
{
    h->segments++;
    h->passed += has_passed(r);
    // A segment that was not judged has NAN for these figures, which suite_sum and fmax leave out.
    h->lost = suite_sum(h->lost, r->lost);
    h->duplicated = suite_sum(h->duplicated, r->duplicated);
    h->p99_ms = fmax(h->p99_ms, r->p99_ms);
    // Only one segment of an hour is linked: the one that somebody will want to open.
    if (!h->worst || suite_severity(r) > suite_severity(h->worst))
        h->worst = r;
}

// Puts the cell of a figure. A 0 for what was not measured would look like good news.
static void put_cell(struct buf *out, double value, int digits)
{
    if (isnan(value))
        buf_append_str(out, "– | ");
    else
        buf_printf(out, "%.*f | ", digits, value);
}

// Puts the row of an hour. `number` counts from 0.
static void put_hour(const struct suite *s, size_t number, const struct hour *h, struct buf *out)
{
    buf_printf(out, "| %zu | %zu of %zu | ", number + 1, h->passed, h->segments);
    put_cell(out, h->lost, 0);
    put_cell(out, h->duplicated, 0);
    put_cell(out, h->p99_ms, 1);
    put_name(s, h->worst, out);
    buf_printf(out, " %s | ", suite_run_name(h->worst));
    append_markdown(out, h->worst->broke);
    buf_append_str(out, " |\n");
}

// Puts a row for each hour of a soak, up to where the soak has come.
static void put_hours(const struct suite *s, struct buf *out)
{
    const int64_t hour_ns = 3600 * NS_PER_S;
    const struct hour none = {.lost = NAN, .duplicated = NAN, .p99_ms = NAN};
    struct hour hour = none;
    int64_t took_ns = 0;
    size_t hour_number = 0;

    buf_append_str(out, "\n| hour | passed | lost | twice | p99 ms | the worst | broke |\n"
                        "|---|---|---|---|---|---|---|\n");
    for (size_t i = 0; i < s->run_count; i++) {
        took_ns += s->runs[i].took_ns;
        size_t ended_in = (size_t)(took_ns / hour_ns);
        // A segment of more than an hour skips hours, which have no row.
        if (ended_in != hour_number && hour.segments > 0) {
            put_hour(s, hour_number, &hour, out);
            hour = none;
        }
        hour_number = ended_in;
        add_segment(&hour, &s->runs[i]);
    }
    if (hour.segments > 0)
        put_hour(s, hour_number, &hour, out);
}

bool summary_write(const struct suite *s, const char *out, struct err *e)
{
    struct buf text FREED_BY(buf_fini) = BUF_INIT(SUMMARY_MAX);

    buf_append_str(&text, "# mailproof: ");
    suite_print_counts(s, &text);
    buf_append_str(&text, "\n\n| scenario | verdict | broke, or why undecided |\n|---|---|---|\n");
    // The length of the text shows later whether a row was added.
    size_t head = text.len;
    each_bad(s, &text, put_summary_row);
    // If all runs were skipped, nothing has passed.
    if (text.len == head)
        buf_append_str(&text, count_runs_that(s, has_passed) > 0 ? "| all that ran | pass | |\n"
                                                                 : "| none | not run | |\n");
    if (s->soak)
        put_hours(s, &text);
    each_bad(s, &text, put_details);
    put_fold(s, has_passed, "passed", &text);
    put_fold(s, was_skipped, "skipped", &text);
    return folder_write(out, "summary.md", &text, e);
}
