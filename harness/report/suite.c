#include "report/suite.h"

#include <math.h>

#include "measure/stats.h"
#include "report/terminal.h"

#define NAME_MAX_COLUMNS 40
#define NAME_MIN_COLUMNS 10 // if fewer would be left, names stay whole, and the rows are cut

void suite_init(struct suite *s, size_t rows, bool live)
{
    *s = (struct suite){.count = rows, .live = live && terminal_is(STDERR_FILENO)};
    buf_init(&s->text, 1 << 20);
    s->rows = memory_zeroed(rows, sizeof *s->rows);
    s->width = memory_zeroed(rows + 1, sizeof *s->width); // 1: the line of the totals
    for (size_t i = 0; i < rows; i++) {
        struct suite_row *r = &s->rows[i];
        r->lost = r->duplicated = r->p50_ms = r->p99_ms = NAN;
    }
}

void suite_fini(struct suite *s)
{
    buf_fini(&s->text);
    for (size_t i = 0; i < s->run_count; i++) {
        free(s->runs[i].folder);
        free(s->runs[i].why);
    }
    free(s->rows);
    free(s->runs);
    free(s->width);
    *s = (struct suite){0};
}

// --- a run begins and ends ------------------------------------------------------

static void draw_table(struct suite *s);

void suite_begin(struct suite *s, size_t row)
{
    s->running = row;
    s->rows[row].state = SUITE_RUNS;
    s->run_began_ns = clock_now_ns();
    suite_show(s, &(struct progress){.what = "starting"});
}

void suite_show(struct suite *s, const struct progress *p)
{
    s->shown = *p;
    if (s->live)
        draw_table(s);
}

int suite_severity_of(enum verdict v)
{
    static const int order[] = {[VERDICT_PASS] = 0,
        [VERDICT_MISSED] = 1,
        [VERDICT_INCONCLUSIVE] = 2,
        [VERDICT_VIOLATED] = 3};

    return order[v];
}

double suite_sum(double a, double b)
{
    return isnan(a) ? b : isnan(b) ? a : a + b;
}

// Keeps a run for the summary and the counts.
static void keep_run(struct suite *s, const struct suite_run *run)
{
    struct suite_run kept = *run;

    kept.folder = memory_copy(run->folder);
    kept.why = memory_copy(run->why);
    memory_grow(&s->runs, s->run_count, 1, sizeof *s->runs);
    s->runs[s->run_count++] = kept;
}

void suite_end(struct suite *s, const struct suite_run *run)
{
    struct suite_row *r = &s->rows[s->running];

    r->done++;
    r->took_ns += run->took_ns;
    r->failed = r->failed || run->state == SUITE_FAILED;
    r->state = r->failed ? SUITE_FAILED : run->state;
    if (run->state == SUITE_JUDGED) {
        r->passed += run->verdict == VERDICT_PASS;
        if (suite_severity_of(run->verdict) > suite_severity_of(r->verdict))
            r->verdict = run->verdict;
    }
    r->lost = suite_sum(r->lost, run->lost);
    r->duplicated = suite_sum(r->duplicated, run->duplicated);
    r->p50_ms = fmax(r->p50_ms, run->p50_ms); // fmax of a NAN and a number is the number
    r->p99_ms = fmax(r->p99_ms, run->p99_ms);
    // The row tells what broke in the worst run, whose verdict it shows.
    if (run->broke[0] && run->verdict == r->verdict)
        snprintf(r->broke, sizeof r->broke, "%s", run->broke);
    keep_run(s, run);
}

int suite_severity(const struct suite_run *run)
{
    return run->state == SUITE_FAILED   ? SUITE_SEVERITIES - 1
           : run->state == SUITE_JUDGED ? suite_severity_of(run->verdict)
                                        : 0;
}

// --- verdicts, colours and times ---------------------------------------------------

// Returns in a word the verdict of a judged run, or the state of any other.
static const char *state_or_verdict_name(enum suite_state state, enum verdict verdict)
{
    static const char *const names[] = {[SUITE_WAITS] = "waits",
        [SUITE_RUNS] = "runs",
        [SUITE_SKIPPED] = "skipped",
        [SUITE_FAILED] = "failed"};

    return state == SUITE_JUDGED ? verdict_name(verdict) : names[state];
}

const char *suite_run_name(const struct suite_run *run)
{
    return state_or_verdict_name(run->state, run->verdict);
}

// Returns the SGR code of a row's colour: green for a pass, red for violated and failed, yellow for
// any other verdict. The running row has none (NULL). Rows that wait or were skipped are faint.
static const char *state_colour(const struct suite_row *r)
{
    if (r->state == SUITE_FAILED)
        return "31";
    if (r->state != SUITE_JUDGED)
        return r->state == SUITE_RUNS ? NULL : "2";
    return r->verdict == VERDICT_PASS ? "32" : r->verdict == VERDICT_VIOLATED ? "31" : "33";
}

// Puts a time in seconds, from a minute on in minutes and seconds, between two texts.
static void put_time(struct terminal_line *l, const char *before, int64_t ns, const char *after)
{
    char text[64];
    long long s = ns / NS_PER_S;

    terminal_put(l, NULL, 0, before);
    if (s < 60)
        snprintf(text, sizeof text, "%lld s%s", s, after);
    else
        snprintf(text, sizeof text, "%lld min %02lld s%s", s / 60, s % 60, after);
    terminal_put(l, NULL, 0, text);
}

// --- the live table -----------------------------------------------------------------

// Returns the width of the column of names in a table that is `columns` wide.
static size_t name_width(const struct suite *s, size_t columns)
{
    size_t longest = 8; // the length of the heading "scenario"

    for (size_t i = 0; i < s->count; i++) {
        size_t len = strlen(s->rows[i].name);
        longest = len > longest ? len : longest;
    }
    if (longest > NAME_MAX_COLUMNS)
        longest = NAME_MAX_COLUMNS;
    // A long name must leave room for the columns after it.
    return longest < columns / 2 ? longest : columns / 2;
}

// Returns the share of a row's work that is done, 0 to 1; 0 for a row that has none here.
static double done_share(const struct suite *s, const struct suite_row *r)
{
    double at = 0;

    if (r->state == SUITE_RUNS && s->shown.whole_ns > 0 && s->shown.at_ns > 0)
        at = fmin((double)s->shown.at_ns / (double)s->shown.whole_ns, 1);
    return r->runs > 0 ? (r->done + at) / r->runs : 0;
}

// Puts a row of the live table: the name, a bar unless bar_columns is 0, and how far the row's run
// has come or how the row ended.
static void put_suite_row(struct terminal_line *l, const struct suite *s, const struct suite_row *r,
    size_t name_columns, int bar_columns)
{
    char bar[40] = "", text[128] = "";

    terminal_put(l, r->state == SUITE_WAITS ? "2" : NULL, name_columns, r->name);
    if (bar_columns > 0)
        terminal_bar(bar, sizeof bar, done_share(s, r), bar_columns);
    terminal_put(l, NULL, 0, bar);
    terminal_put(l, NULL, 0, " ");
    if (r->state == SUITE_RUNS) {
        terminal_put(l, NULL, 0, s->shown.what);
        if (s->shown.planned > 0)
            snprintf(text, sizeof text, ", %llu of %llu delivered",
                (unsigned long long)s->shown.delivered, (unsigned long long)s->shown.planned);
        terminal_put(l, NULL, 0, text);
        if (s->shown.planned > 0 && isfinite(s->shown.latency_ms)) {
            int len = snprintf(text, sizeof text, ", %.1f ms", s->shown.latency_ms);
            // A number that is cut off would read as another number.
            if (l->used + (size_t)len <= l->room)
                terminal_put(l, NULL, 0, text);
        }
        return;
    }
    // The runs of a row may all belong to other shards.
    terminal_put(l, state_colour(r), 12,
        r->runs > 0 ? state_or_verdict_name(r->state, r->verdict) : "not here");
    if (r->done > 0)
        put_time(l, " ", r->took_ns, "");
    if (r->done > 0 && r->lost > 0) {
        snprintf(text, sizeof text, ", %.0f lost", r->lost);
        terminal_put(l, "31", 0, text);
    }
}

// Estimates how long the remaining runs take; 0 when the present run exceeds the estimate.
static int64_t time_left_ns(const struct suite *s)
{
    int64_t excess_ns = 0, left_ns = 0;
    int finished = 0, to_come = 0;

    for (size_t i = 0; i < s->count; i++) {
        const struct suite_row *r = &s->rows[i];
        if (r->done > 0 && r->state != SUITE_SKIPPED) {
            excess_ns += r->took_ns - r->planned_ns * r->done;
            finished += r->done;
        }
        to_come += r->runs - r->done;
        left_ns += r->planned_ns * (r->runs - r->done);
    }
    // The runs to come are expected to exceed their plan as much as the finished runs did.
    left_ns += to_come * (finished > 0 && excess_ns > 0 ? excess_ns / finished : SUITE_OVERHEAD_NS);
    // The present run counts as one to come, so the time that it has taken already is subtracted.
    left_ns -= clock_now_ns() - s->run_began_ns;
    return left_ns > 0 ? left_ns : 0;
}

// Puts the counts of all rows' runs, and about how long the runs that are left will take.
static void put_totals(struct terminal_line *l, const struct suite *s)
{
    int runs = 0, done = 0, passed = 0, skipped = 0;
    char text[96];

    for (size_t i = 0; i < s->count; i++) {
        runs += s->rows[i].runs;
        done += s->rows[i].done;
        passed += s->rows[i].passed;
        skipped += s->rows[i].state == SUITE_SKIPPED ? s->rows[i].done : 0;
    }
    snprintf(text, sizeof text, "%d of %d runs over, %d passed, ", done, runs, passed);
    terminal_put(l, NULL, 0, text);
    snprintf(text, sizeof text, "%d not, ", done - passed - skipped);
    terminal_put(l, done - passed - skipped ? "31" : NULL, 0, text);
    put_time(l, "about ", time_left_ns(s), " left");
}

// Removes the table that is drawn: moves the cursor from the end of its last line to its first, and
// clears the rest. A line may take several rows after the window was made narrower.
static void erase_table(struct suite *s, size_t columns)
{
    size_t up = 0;

    if (s->drawn == 0)
        return;
    for (size_t i = 0; i < s->drawn; i++)
        up += s->width[i] > columns ? (s->width[i] + columns - 1) / columns : 1;
    buf_append_char(&s->text, '\r');
    if (up > 1)
        buf_printf(&s->text, "\x1b[%zuA", up - 1);
    buf_append_str(&s->text, "\x1b[J");
    s->drawn = 0;
}

static void flush_table(struct suite *s)
{
    if (!s->text.failed && s->text.len > 0)
        fwrite(s->text.data, 1, s->text.len, stderr);
    fflush(stderr);
    buf_clear(&s->text);
}

// Draws the rows around the running one, as many as the window has room for, and the totals.
static void draw_table(struct suite *s)
{
    size_t columns, lines;

    terminal_size(STDERR_FILENO, &columns, &lines);
    // One line of the window is for the totals, and one for the last line of the output above.
    size_t name_columns = name_width(s, columns), room = lines > 2 ? lines - 2 : 1;
    // The bar is wide only if "load, 12345 of 12345 delivered, 1234.5 ms" fits beside it. There is
    // no bar if a verdict and a short time do not fit beside a narrow one.
    int bar_columns = columns >= name_columns + 66 ? 20 : columns >= name_columns + 28 ? 8 : 0;
    // The running row stands in the middle, unless it is near the first or the last one.
    size_t first = s->count <= room || s->running < room / 2 ? 0 : s->running - room / 2;
    if (s->count > room && first > s->count - room)
        first = s->count - room;
    // The output so far must stand above the table.
    fflush(stdout);
    erase_table(s, columns);
    for (size_t i = first; i <= s->count && i <= first + room; i++) {
        // The last column stays free, because some terminals wrap the line when it is filled.
        struct terminal_line l = {
            .out = &s->text, .room = columns - 1, .colours = terminal_colours(STDERR_FILENO)};
        if (i == s->count || i == first + room) {
            put_totals(&l, s);
        } else {
            put_suite_row(&l, s, &s->rows[i], name_columns, bar_columns);
            buf_append_char(&s->text, '\n');
        }
        s->width[s->drawn++] = (unsigned short)l.used;
    }
    flush_table(s);
}

void suite_hide(struct suite *s)
{
    size_t columns, lines;

    terminal_size(STDERR_FILENO, &columns, &lines);
    erase_table(s, columns);
    flush_table(s);
}

// --- the table at the end ------------------------------------------------------------

// Width of the final table, not counting the column of names and the last column, which takes the
// rest.
#define FIGURES_WIDTH 53

// Puts a number at the right end of `width` columns; "-" for a NAN, which was not measured.
static void put_figure(struct terminal_line *l, int width, double value, int digits)
{
    char text[32];

    if (isnan(value))
        snprintf(text, sizeof text, " %*s", width, "-");
    else
        snprintf(text, sizeof text, " %*.*f", width, digits, value);
    terminal_put(l, NULL, 0, text);
}

// Puts how many runs passed, and the 95% interval of the rate at which they pass.
static void put_rate(struct terminal_line *l, const struct suite_row *r)
{
    const double alpha = 0.025; // 5% in all, half of it at each bound
    const size_t passed = (size_t)r->passed, done = (size_t)r->done;
    char text[64];

    snprintf(text, sizeof text, "  %d of %d (95%%: %.0f%% to %.0f%%)", r->passed, r->done,
        100 * stats_rate_low(passed, done, alpha), 100 * stats_rate_high(passed, done, alpha));
    terminal_put(l, NULL, 0, text);
}

static void put_final_row(struct terminal_line *l, const struct suite_row *r, size_t name_columns)
{
    terminal_put(l, NULL, name_columns, r->name);
    terminal_put(l, NULL, 0, "  ");
    terminal_put(l, state_colour(r), 12, state_or_verdict_name(r->state, r->verdict));
    put_figure(l, 6, (double)r->took_ns / 1e9, 1);
    terminal_put(l, NULL, 0, " s");
    put_figure(l, 8, r->p50_ms, 1);
    put_figure(l, 8, r->p99_ms, 1);
    put_figure(l, 5, r->lost, 0);
    put_figure(l, 5, r->duplicated, 0);
    if (r->runs > 1)
        put_rate(l, r);
    terminal_put(l, NULL, 0, "  ");
    terminal_put(l, NULL, 0, r->broke);
}

void suite_print_counts(const struct suite *s, struct buf *out)
{
    size_t skipped = 0, failed = 0, by_verdict[VERDICT_MISSED + 1] = {0};

    for (size_t i = 0; i < s->run_count; i++) {
        const struct suite_run *r = &s->runs[i];
        skipped += r->state == SUITE_SKIPPED;
        failed += r->state == SUITE_FAILED;
        if (r->state == SUITE_JUDGED)
            by_verdict[r->verdict]++;
    }
    buf_printf(out, "%zu of %zu runs passed", by_verdict[VERDICT_PASS], s->run_count);
    for (enum verdict v = VERDICT_PASS + 1; v <= VERDICT_MISSED; v++) {
        if (by_verdict[v] > 0)
            buf_printf(out, ", %zu %s", by_verdict[v], verdict_name(v));
    }
    // A run that could not be made has no verdict, and must not look like one that was skipped.
    if (failed > 0)
        buf_printf(out, ", %zu failed", failed);
    buf_printf(out, ", %zu skipped", skipped);
    if (s->not_run > 0)
        buf_printf(out, ", %zu %s not run", s->not_run, NOUN(s->not_run, "scenario", "scenarios"));
    if (s->gaps && *s->gaps)
        buf_printf(out, "; incomplete: %s", s->gaps);
}

void suite_print(const struct suite *s, FILE *out)
{
    // This default is for a file, whose lines may be long.
    size_t columns = 200, lines;
    struct buf text FREED_BY(buf_fini) = BUF_INIT(1 << 20);

    if (isatty(fileno(out)))
        terminal_size(fileno(out), &columns, &lines);
    size_t name_columns = name_width(s, columns);
    // A long name must leave room for the figures.
    if (columns > FIGURES_WIDTH + NAME_MIN_COLUMNS && name_columns > columns - 1 - FIGURES_WIDTH)
        name_columns = columns - 1 - FIGURES_WIDTH;
    struct terminal_line head = {.out = &text, .room = columns - 1};
    terminal_put(&head, NULL, name_columns, "scenario");
    terminal_put(&head, NULL, 0,
        "  verdict          time   p50 ms   p99 ms  lost twice  broke, or why undecided");
    for (size_t i = 0; i < s->count; i++) {
        struct terminal_line l = {
            .out = &text, .room = columns - 1, .colours = terminal_colours(fileno(out))};
        if (s->rows[i].done == 0)
            continue;
        buf_append_char(&text, '\n');
        put_final_row(&l, &s->rows[i], name_columns);
    }
    buf_append_char(&text, '\n');
    suite_print_counts(s, &text);
    if (buf_str(&text))
        fprintf(out, "%s\n", text.data);
}
