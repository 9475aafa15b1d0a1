#include "run/cuts/cutreport.h"

#include <stdarg.h>

#define POINTS_SHOWN 10
#define STATEMENT_SHOWN 50

// With a pass, some points may be without a verdict: two, or 2% of all if that is more. Each of
// them was tried three times, and is listed. The reason for this limit: a collector that also sends
// at fixed times does not exchange the same messages in each run, so the last message of a kind may
// not come in a trial. That is one message, and it has two points: before it and after it.
static const double unjudged_most = 0.02;
static const size_t unjudged_floor = 2;
// The share of a kind's points that must be judged. With less, a reader of a pass would wrongly
// believe that cuts at this kind of message are harmless.
static const double kind_least = 0.5;

// --- the verdict --------------------------------------------------------------------

static void add_reason(struct cutverdict *v, const char *fmt, ...) PRINTF_LIKE(2, 3);

static void add_reason(struct cutverdict *v, const char *fmt, ...)
{
    va_list args;

    if (v->reason_count == CUTREPORT_REASONS)
        return;
    va_start(args, fmt);
    vsnprintf(v->reasons[v->reason_count++], sizeof v->reasons[0], fmt, args);
    va_end(args);
}

static struct report_cuts count_cuts(const struct cutreport *c)
{
    struct report_cuts n = {
        .mode = c->how->action == ACTION_KILL ? "every-kill" : "every-cut",
        .tried = c->points->count,
    };

    for (size_t i = 0; i < c->points->count; i++) {
        n.reached += cutkinds_reached(c, i);
        n.broken += c->results[i].verdict == VERDICT_VIOLATED;
        n.inconclusive += c->results[i].verdict == VERDICT_INCONCLUSIVE;
    }
    return n;
}

// True when, without any cut, the collector neither wrote anything nor ended. The collector may
// not know where the server is, so its silence is no violation. A figure that was not measured
// (NAN) counts as 0.
static bool is_uncut_silent(const struct trial_result *uncut)
{
    return !(uncut->values[METRIC_COLLECTOR_BATCHES] > 0) &&
           !(uncut->values[METRIC_UNPLANNED_EXIT] > 0);
}

// Makes the verdict of the whole run from the trial without any cut, in which the collector did not
// pass or wrote nothing.
static void judge_uncut(const struct cutreport *c, struct cutverdict *v)
{
    if (is_uncut_silent(c->uncut)) {
        v->verdict = VERDICT_INCONCLUSIVE;
        add_reason(v, "without any cut the collector wrote nothing");
        return;
    }
    v->verdict = c->uncut->verdict;
    if (v->verdict == VERDICT_INCONCLUSIVE)
        add_reason(v, "without any cut the trial is inconclusive, so cuts would prove nothing");
    else
        add_reason(v, "without any cut the collector fails as well, so cuts would prove nothing");
    if (*c->uncut->why)
        add_reason(v, "%s", c->uncut->why);
}

static const char *first_inconclusive_reason(const struct cutreport *c)
{
    for (size_t i = 0; i < c->points->count; i++) {
        if (c->results[i].verdict == VERDICT_INCONCLUSIVE && *c->results[i].why)
            return c->results[i].why;
    }
    return "the reason is not known";
}

// Adds the reasons why a pass cannot be given: too many of all points, or of the points of one kind
// of message, were not judged.
static void doubt_cuts(
    const struct cutreport *c, const struct report_cuts *counts, struct cutverdict *v)
{
    size_t unjudged = 0;
    struct cutkind k;

    for (size_t i = 0; cutkinds_next(c, &i, &k);)
        unjudged += k.unjudged;
    bool many =
        unjudged > unjudged_floor && (double)unjudged > unjudged_most * (double)counts->tried;
    if (many && counts->reached < counts->tried)
        add_reason(v,
            "%zu of %zu messages never came again: the same workload led to other messages; repeat "
            "it when idle",
            counts->tried - counts->reached, counts->tried);
    if (many && counts->inconclusive > 0)
        add_reason(v, "%zu of %zu trials were inconclusive: %s", counts->inconclusive,
            counts->tried, first_inconclusive_reason(c));
    for (size_t i = 0; cutkinds_next(c, &i, &k);)
        if ((double)(k.tried - k.unjudged) < kind_least * (double)k.tried)
            add_reason(v, "%zu of %zu trials at %s %s were not judged", k.unjudged, k.tried,
                k.sender, k.message);
}

void cutreport_judge(const struct cutreport *c, struct report_cuts *n, struct cutverdict *v)
{
    *n = count_cuts(c);
    // If there are no points, either the collector did not pass without a cut, or wrote nothing, or
    // this shard has nothing to try. In the last case the trial without a cut decides nothing.
    if (n->tried == 0 && (is_uncut_silent(c->uncut) || c->uncut->verdict != VERDICT_PASS)) {
        judge_uncut(c, v);
        return;
    }
    v->verdict = VERDICT_PASS;
    // In a merge, the shard that did not pass without a cut has tried none of its points, so its
    // verdict stands for them.
    if (c->uncut->verdict != VERDICT_PASS)
        judge_uncut(c, v);
    if (n->broken > 0)
        v->verdict = VERDICT_VIOLATED;
    if (*c->gaps)
        add_reason(v, "%s", c->gaps);
    doubt_cuts(c, n, v);
    // A violation stands, however many points were not judged.
    if (v->verdict == VERDICT_PASS && v->reason_count > 0)
        v->verdict = VERDICT_INCONCLUSIVE;
}

// --- the terminal ---------------------------------------------------------------------

static void print_cut_kinds(const struct cutreport *c)
{
    struct cutkind k;
    char others[CUTKINDS_TEXT];

    printf("  %-32s %6s %8s %6s %11s %6s  %s\n", "message", "tried", "reached", "lost",
        "duplicated", "exits", "others");
    for (size_t i = 0; cutkinds_next(c, &i, &k);)
        printf("  %-6s %-25s %6zu %8zu %6.0f %11.0f %6.0f  %s\n", k.sender, k.message, k.tried,
            k.reached, k.sums[METRIC_LOST], k.sums[METRIC_DUPLICATED],
            k.sums[METRIC_UNPLANNED_EXIT], cutkinds_others(k.sums, others));
}

// Prints the result of a trial, on the line that already names its cuts: that a message never came,
// why the trial is inconclusive, which invariants it broke, and an example of a broken one.
static void print_trial(const struct trial_result *r, bool reached)
{
    const char *example = cutkinds_example(r), *mark = ": ";
    char text[CUTKINDS_TEXT];

    if (!reached) {
        printf("%sit never came", mark);
        mark = "; ";
    }
    if (r->verdict == VERDICT_INCONCLUSIVE) {
        printf("%sinconclusive: %s", mark, r->why);
        mark = "; ";
    }
    if (*cutkinds_broken(r, text))
        printf("%s%s", mark, text);
    printf("%s%s\n", *example ? "; " : "", example);
}

static void print_point(const struct cutreport *c, size_t i)
{
    const struct trial_result *r = &c->results[i];
    const struct trial_cuts *cuts = &c->points->items[i];
    const struct cut_point *p = &cuts->at[0];
    const char *statement = transcript_find(c->transcript, p->sender, p->type, p->n);
    char text[POINTS_TEXT];

    printf("  %s", points_text(cuts, text));
    if (cuts->count == 1 && *statement)
        printf(" (%.*s%s)", STATEMENT_SHOWN, statement,
            strlen(statement) > STATEMENT_SHOWN ? "…" : "");
    print_trial(r, cutkinds_reached(c, i));
}

static bool is_broken(const struct cutreport *c, size_t i)
{
    return c->results[i].verdict == VERDICT_VIOLATED;
}

// Prints the points for which `is_selected` is true, at most *left of them, and subtracts them from
// *left. Returns how many such points were not printed.
static size_t print_points(
    const struct cutreport *c, bool (*is_selected)(const struct cutreport *, size_t), size_t *left)
{
    size_t left_out = 0;

    for (size_t i = 0; i < c->points->count; i++) {
        if (!is_selected(c, i))
            continue;
        if (*left > 0) {
            print_point(c, i);
            --*left;
        } else {
            left_out++;
        }
    }
    return left_out;
}

// Prints the kinds of message, a summary, and up to POINTS_SHOWN points: those that broke an
// invariant, then those that were not judged.
static void print_cuts(const struct cutreport *c, const struct report_cuts *n)
{
    size_t left = POINTS_SHOWN;

    print_cut_kinds(c);
    printf("  %zu %s tried in %.0f s, %zu reached, %zu broke an invariant\n", n->tried,
        c->how->action == ACTION_KILL ? NOUN(n->tried, "kill point", "kill points")
                                      : NOUN(n->tried, "cut point", "cut points"),
        (double)(c->end_ns - c->start_ns) / 1e9, n->reached, n->broken);
    size_t more_broken = print_points(c, is_broken, &left);
    size_t more_unjudged = print_points(c, cutkinds_unjudged, &left);
    if (more_broken > 0)
        printf(
            "  and %zu more that broke%s", more_broken, more_unjudged > 0 ? "" : " in cuts.csv\n");
    if (more_unjudged > 0)
        printf("%s%zu not judged in cuts.csv\n", more_broken > 0 ? ", " : "  and ", more_unjudged);
}

static void print_cut_report(
    const struct cutreport *c, const struct report_cuts *n, const struct cutverdict *v)
{
    struct buf command FREED_BY(buf_fini) = BUF_INIT(1 << 16);

    printf("%s, %s: %s\n", c->scenario->name,
        c->how->action == ACTION_KILL ? "every kill" : "every cut", verdict_name(v->verdict));
    // No cut was tried if the collector failed without one, or if this shard has nothing to try.
    if (n->tried > 0) {
        print_cuts(c, n);
    } else if (v->verdict == VERDICT_PASS) {
        printf("  this shard has nothing to try\n");
    } else {
        printf("  without any cut");
        print_trial(c->uncut, true);
    }
    for (size_t i = 0; i < v->reason_count; i++)
        printf("  reason      %s\n", v->reasons[i]);
    printf("  result      %s\n", c->folder->path);
    if (v->verdict == VERDICT_PASS)
        return;
    cutfiles_repeat(c, NULL, &command);
    if (buf_str(&command))
        printf("  repeat      %s\n", command.data);
}

// --- the outcome and the whole report -----------------------------------------------------

// Returns the number of cases in the trials that broke the invariant.
static double sum_cases(const struct cutreport *c, enum metric_id id)
{
    double sum = 0;

    for (size_t i = 0; i < c->points->count; i++)
        sum += c->results[i].broken[id] ? c->results[i].values[id] : 0;
    if (cutkinds_uncut_counts(c) && c->uncut->broken[id])
        sum += c->uncut->values[id];
    return sum;
}

bool cutreport_write(const struct cutreport *c, struct run_outcome *outcome, struct err *e)
{
    struct cutverdict v = {0};
    struct report_cuts n;

    cutreport_judge(c, &n, &v);
    if (!cutfiles_write(c, &n, &v, e))
        return false;
    outcome->verdict = v.verdict;
    outcome->lost = sum_cases(c, METRIC_LOST);
    outcome->duplicated = sum_cases(c, METRIC_DUPLICATED);
    snprintf(outcome->folder, sizeof outcome->folder, "%s", c->folder->path);
    print_cut_report(c, &n, &v);
    return !c->options->suites || cutfiles_suite(c, &n, &v, c->options->suites, e);
}
