// mailproof compare: compares two sets of stored results, or runs two collectors alternately.
//
// With --ab the runs are made here: A B, B A, A B, …, so that a machine which gets slower slows
// both sides alike. If all runs of A came before those of B, a drift of the machine would look like
// a difference between A and B.
//
// --calibrate compares A with itself first: a machine on which A differs from itself cannot tell B
// from A.
#include "cli/cli.h"

#include <math.h>

#include "options/options.h"
#include "options/locate.h"
#include "compare/compare.h"
#include "os/interrupt.h"
#include "report/escape.h"
#include "run/shared_server.h"
#include "run/runner.h"
#include "scenario/needs.h"

#define TEXT_MAX (16u << 20)
#define SCENARIOS_MAX 256
#define RUNS_DEFAULT 10

struct comparisons {
    struct comparison items[SCENARIOS_MAX]; // items[i] compares base[i] with new[i]
    struct side base[SCENARIOS_MAX], new[SCENARIOS_MAX];
    size_t count;
};

// --- printing -----------------------------------------------------------------------

static bool print_markdown_list(const struct comparison *list, size_t count, struct buf *out)
{
    for (size_t i = 0; i < count; i++)
        print_markdown(&list[i], out);
    return !out->failed;
}

static bool write_compare_files(
    const struct comparisons *all, const struct options *o, struct err *e)
{
    const struct {
        const char *name, *path;
        bool (*print)(const struct comparison *list, size_t count, struct buf *out);
    } files[] = {
        {"markdown", o->markdown, print_markdown_list},
        {"html", o->html, picture_html},
        {"json", o->json_file, print_json},
        {"csv", o->csv, print_csv},
    };
    struct buf text FREED_BY(buf_fini) = BUF_INIT(TEXT_MAX);
    bool ok = true;

    for (size_t i = 0; ok && i < sizeof files / sizeof *files; i++) {
        buf_clear(&text);
        // The files share one buffer, one after another, because a page with every run may be
        // megabytes long.
        ok = !files[i].path ||
             ((files[i].print(all->items, all->count, &text) ||
                  err_set(e, ERR_INTERNAL, "--%s: the comparison is too long", files[i].name)) &&
                 file_write(files[i].name, files[i].path, &text, e));
    }
    return ok;
}

static bool print_comparison(const struct comparison *c, struct err *e)
{
    struct buf text FREED_BY(buf_fini) = BUF_INIT(TEXT_MAX);

    bool ok = print_terminal(c, &text) || err_set(e, ERR_INTERNAL, "the comparison is too long");
    if (ok)
        fwrite(text.data, 1, text.len, stdout);
    return ok;
}

// Returns the worst exit code of the comparisons: a regression is worst, then an unknown result. If
// there is no comparison, the calibration has failed, so the result is unknown.
static int worst_change_code(const struct comparisons *all)
{
    int code = all->count > 0 ? EXIT_OK : change_exit_code(CHANGE_UNKNOWN);

    for (size_t i = 0; i < all->count; i++) {
        int own_code = change_exit_code(all->items[i].overall);
        // A worse result has a larger exit code.
        code = own_code > code ? own_code : code;
    }
    return code;
}

// --- stored results -------------------------------------------------------------------

// True when one of the first run_count runs of the side is a run of this scenario.
static bool has_run_of(const struct side *s, size_t run_count, const char *scenario)
{
    for (size_t i = 0; i < run_count; i++) {
        if (strcmp(s->runs[i].scenario, scenario) == 0)
            return true;
    }
    return false;
}

// Compares the stored runs of one scenario on both sides, and prints the comparison.
static bool compare_scenario(struct comparisons *all, const struct side *base,
    const struct side *new, const char *scenario, double min_effect, struct err *e)
{
    size_t i = all->count;

    if (i == SCENARIOS_MAX)
        return err_set(e, ERR_USAGE, "compare: more than %d scenarios", SCENARIOS_MAX);
    all->base[i].name = base->name;
    all->new[i].name = new->name;
    all->count++; // before the sides are filled, so that they are freed even after an error
    collect_scenario(&all->base[i], base, scenario);
    collect_scenario(&all->new[i], new, scenario);
    if (!setup_check(&all->base[i], &all->new[i], e) ||
        !compare_sides(&all->items[i], &all->base[i], &all->new[i], min_effect, e))
        return false;
    setup_notes(&all->items[i]);
    return print_comparison(&all->items[i], e);
}

// Compares each scenario that both sides have. False when there is none.
static bool compare_each(struct comparisons *all, const struct side *base, const struct side *new,
    double min_effect, struct err *e)
{
    for (size_t i = 0; i < base->count; i++) {
        const char *scenario = base->runs[i].scenario;
        // A scenario is compared once, when its first run comes up.
        if (has_run_of(base, i, scenario))
            continue;
        if (!has_run_of(new, new->count, scenario))
            fprintf(stderr, "mailproof: %s: in the base only, not compared\n", scenario);
        else if (!compare_scenario(all, base, new, scenario, min_effect, e))
            return false;
    }
    return all->count > 0 || err_set(e, ERR_USAGE, "compare: the two have no scenario in common");
}

// Refuses options that change runs, because stored runs cannot be changed.
static bool check_stored_options(const struct options *o, struct err *e)
{
    const char *given = o->set_count > 0       ? "set"
                        : o->seed[0]           ? "seed"
                        : o->promises[0]       ? "promises"
                        : o->scale > 0         ? "scale"
                        : o->provider          ? "postgres"
                        : o->compare.runs      ? "runs"
                        : o->compare.seeds > 1 ? "seeds"
                        : o->compare.calibrate ? "calibrate"
                                               : NULL;

    return !given || err_set(e, ERR_USAGE, "compare: --%s goes with --ab", given);
}

static bool compare_stored(struct comparisons *all, const struct options *o, struct err *e)
{
    struct side base FREED_BY(side_fini) = {.name = "base"},
                     new FREED_BY(side_fini) = {.name = "new"};
    bool two_named = o->args[0] && o->args[1] && !o->args[2];
    bool ok = check_stored_options(o, e) &&
              (two_named || err_set(e, ERR_USAGE,
                                "compare: name two results or folders of results, BASE and NEW"));

    ok = ok && collect_runs(&base, o->args[0], e) && collect_runs(&new, o->args[1], e);
    size_t interrupted = base.interrupted + new.interrupted;
    // An interrupted run had a shorter load, so its figures do not compare.
    if (interrupted > 0)
        fprintf(stderr, "mailproof: %zu interrupted run%s left out\n", interrupted,
            interrupted == 1 ? " was" : "s were");
    return ok && compare_each(all, &base, &new, o->compare.min_effect, e);
}

// --- two collectors alternately ----------------------------------------------------------

// The runs of compare --ab. Each collector has its own copy of the scenario, with its own
// collector.layout; both copies judge the same promises.
struct turns {
    struct scenario scenarios[2];
    const char *commands[2];
    const struct options *options;
    char out[PATH_MAX / 2]; // results/compare/<UTC time>
    int runs;               // number of counted runs of each collector
    int done, planned;      // numbers of all runs, with the warm-up and the calibration
    int round;              // number of the counted round, from 0; decides the seed of its runs
    struct server server;   // one server for all runs, each of which has a database of its own
    bool shared; // true: `server` is used; false: the scenario changes its server, so each
                 // run has its own
};

static void tell_side_run(
    const struct turns *t, const char *side, const struct stored *run, bool counts)
{
    double p50 = run->values[METRIC_LATENCY_P50], p99 = run->values[METRIC_LATENCY_P99];

    if (t->options->quiet)
        return;
    printf("  run %d of %d  %-7s %s", t->done, t->planned, side, verdict_name(run->verdict));
    if (isfinite(p50) && isfinite(p99))
        printf(", latency.p50 %.4g ms, p99 %.4g ms", p50, p99);
    printf("%s\n", counts ? "" : " (warm-up, not counted)");
}

// Runs collector `which` once, and adds the run to the side if it counts.
static bool run_turn(struct turns *t, struct side *side, int which, bool counts, struct err *e)
{
    char out[PATH_MAX];
    struct run_outcome outcome;
    struct stored run;

    snprintf(out, sizeof out, "%s/%s", t->out, counts ? side->name : "warm-up");
    struct run_options how = {
        .collector = t->commands[which],
        .postgres = t->options->conninfo,
        .out = out,
        .quiet = t->options->quiet,
        .silent = true,
        .server = t->shared ? &t->server : NULL,
    };
    struct scenario scenario = t->scenarios[which]; // a shallow copy: strings and lists are
                                                    // borrowed
    // Both runs of a round have the same seed, so that both collectors meet the same plan.
    scenario.seed += (uint64_t)(t->round % t->options->compare.seeds);
    if (!run_scenario(&scenario, &how, &outcome, e) || !stored_read(&run, outcome.folder, e))
        return false;
    if (interrupt_signal())
        return err_set(e, ERR_INTERRUPTED, "interrupted");
    t->done++;
    tell_side_run(t, side->name, &run, counts);
    if (counts)
        side_add(side, &run);
    return true;
}

// Runs A B, then B A, and so on (see the head of this file). The first round is a warm-up that
// fills the machine's caches, and does not count.
static bool take_turns(
    struct turns *t, struct side *a, int which_a, struct side *b, int which_b, struct err *e)
{
    for (int round = 0; round <= t->runs; round++) {
        bool a_first = round % 2 == 0, counts = round > 0;
        t->round = counts ? round - 1 : 0;
        if (!run_turn(t, a_first ? a : b, a_first ? which_a : which_b, counts, e) ||
            !run_turn(t, a_first ? b : a, a_first ? which_b : which_a, counts, e))
            return false;
    }
    return true;
}

// Compares collector 0 with collector `second`, which is 0 as well in a calibration.
static bool compare_collectors(
    struct comparisons *all, struct turns *t, const char *names[2], int second, struct err *e)
{
    size_t i = all->count++;
    struct side *a = &all->base[i], *b = &all->new[i];

    a->name = names[0];
    b->name = names[1];
    return take_turns(t, a, 0, b, second, e) &&
           compare_sides(&all->items[i], a, b, t->options->compare.min_effect, e) &&
           print_comparison(&all->items[i], e);
}

// Compares A with itself, where any difference comes from the machine. *steady: the machine can be
// used for a comparison.
static bool calibrate(struct turns *t, bool *steady, struct err *e)
{
    struct comparisons *own FREED_BY(memory_free) = memory_zeroed(1, sizeof *own);

    puts("Calibration, A against itself:");
    // The names are folders, too. In the folder A these runs would later count as runs beside B's.
    bool ok = compare_collectors(own, t, (const char *[]){"A-first", "A-again"}, 0, e);
    // If intervals are only too wide to decide, the comparison goes on, and will probably say that
    // the difference is unknown.
    *steady = own->items[0].overall == CHANGE_NONE ||
              (own->items[0].overall == CHANGE_UNKNOWN && !own->items[0].too_few);
    if (ok && !*steady)
        puts(own->items[0].too_few
                 ? "inconclusive: too few runs to see whether this machine is steady; more with "
                   "--runs"
                 : "inconclusive: A differs from itself, so this machine is not steady enough");
    side_fini(&own->base[0]);
    side_fini(&own->new[0]);
    return ok;
}

// Prepares the runs: their number, their folder and, if the scenario allows it, a shared server.
static bool start_turns(struct turns *t, const struct options *o, struct err *e)
{
    t->options = o;
    t->runs = o->compare.runs ? o->compare.runs : RUNS_DEFAULT;
    // Each side has one more run, the warm-up.
    t->planned = 2 * (t->runs + 1) * (o->compare.calibrate ? 2 : 1);
    if (!files_dated_folder(t->out, sizeof t->out, o->out, "compare", e))
        return false;
    t->shared = shared_fits(&t->scenarios[0]);
    return !t->shared || shared_open(&t->server, &t->scenarios[0], o->conninfo, e);
}

// Prints the command that compares the stored runs of both collectors.
static void print_compare_command(const char *folder)
{
    struct buf out FREED_BY(buf_fini) = BUF_INIT((size_t)16 * PATH_MAX);
    char path[PATH_MAX];

    for (int side = 'A'; side <= 'B'; side++) {
        snprintf(path, sizeof path, "%s/%c", folder, side);
        buf_append_char(&out, ' ');
        append_word(&out, path);
    }
    if (buf_str(&out))
        printf("  runs so far mailproof compare%s\n", out.data);
}

// Makes the runs and compares them. If the calibration fails, A and B are not compared; this is no
// error, and `all` stays empty.
static bool compare_by_turns(
    struct comparisons *all, struct turns *t, const struct options *o, struct err *e)
{
    bool steady = true;
    bool ok = start_turns(t, o, e) && (!o->compare.calibrate || calibrate(t, &steady, e));
    ok = ok && (!steady || compare_collectors(all, t, (const char *[]){"A", "B"}, 1, e));
    if (t->shared)
        shared_close(&t->server);
    if (ok)
        printf("  results     %s\n", t->out);
    // After an error the runs so far stay, because they took long, and can be compared by
    // themselves.
    else if (all->count > 0 && all->base[0].count > 0 && all->new[0].count > 0)
        print_compare_command(t->out);
    return ok;
}

// Loads the scenario for both collectors. Only promises that both make are judged, because a side
// that makes more promises would break more.
static bool load_both(struct turns *t, const char *path, const struct options *o, struct err *e)
{
    struct overrides sets = options_overrides(o);
    bool ok = true;

    for (int i = 0; ok && i < 2; i++) {
        sets.collector = t->commands[i] = o->args[i];
        ok = scenario_load(&t->scenarios[i], path, &sets, e);
    }
    int common = t->scenarios[0].collector.promises & t->scenarios[1].collector.promises;
    for (int i = 0; ok && i < 2; i++) {
        t->scenarios[i].collector.promises = common;
        needs_drop_expectations(&t->scenarios[i]);
        ok = needs_met(&t->scenarios[i], e);
    }
    return ok;
}

static bool compare_ab(struct comparisons *all, const struct options *o, struct err *e)
{
    struct paths paths FREED_BY(locate_fini) = {0};
    struct turns t = {0};

    bool ok = (o->args[0] && o->args[1] && o->args[2] && !o->args[3]) ||
              err_set(e, ERR_USAGE,
                  "compare --ab: name two collectors, each in quotes, and one scenario");
    ok = ok && locate_scenarios(&paths, o->args[2], e) &&
         (paths.count == 1 || err_set(e, ERR_USAGE, "compare --ab: one scenario at a time")) &&
         load_both(&t, paths.items[0], o, e) && compare_by_turns(all, &t, o, e);
    scenario_fini(&t.scenarios[0]);
    scenario_fini(&t.scenarios[1]);
    return ok;
}

int cli_compare(const struct options *o)
{
    struct comparisons *all FREED_BY(memory_free) = memory_zeroed(1, sizeof *all);
    struct err e = {0};

    bool ok = (o->compare.ab ? compare_ab(all, o, &e) : compare_stored(all, o, &e)) &&
              write_compare_files(all, o, &e);
    int code = ok ? worst_change_code(all) : cli_fail(&e);
    for (size_t i = 0; i < all->count; i++) {
        side_fini(&all->base[i]);
        side_fini(&all->new[i]);
    }
    return code;
}
