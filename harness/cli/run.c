// mailproof run SCENARIO...: runs scenarios and judges them.
#include "cli/cli.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/files.h"
#include "cli/locate.h"
#include "cli/skips.h"
#include "cli/subjects.h"
#include "run/everycut.h"
#include "run/everyflush.h"
#include "os/interrupt.h"
#include "os/paths.h"
#include "plan/plan.h"
#include "postgres/migrate.h"
#include "report/index.h"
#include "report/live.h"
#include "report/report.h"
#include "report/stored.h"
#include "report/suite.h"
#include "report/summary.h"
#include "runner.h"

#define SUITES_MAX (256u << 20)

// The results of all runs together.
struct tally {
    int exit_code; // worst exit code so far
    size_t runs, skipped;
    struct buf suites;  // JUnit, of all runs
    struct suite table; // one row per scenario
    struct live *live;  // NULL without --metrics
};

// Checks the limits that only show in the plan (the number of tokens, overlapping faults) or
// in the migrations.
static bool is_possible(const struct scenario *s, const char *path, struct err *e)
{
    struct plan plan = {0};
    bool ok = (migrate_exists(s->postgres.schema, e) && plan_make(&plan, s, e)) ||
              err_prefix(e, "%s", path);

    plan_fini(&plan);
    return ok;
}

// Validates all scenarios before the first runs, and leaves out those without the tag.
static bool load_all(struct scenario *scenarios, size_t *count, const struct paths *paths,
    const struct options *o, const struct overrides *sets, struct err *e)
{
    struct tag_search search;

    locate_tag(&search, o->tag);
    for (size_t i = 0; i < paths->count; i++) {
        struct scenario *s = &scenarios[*count];
        if (!scenario_load(s, paths->items[i], sets, e))
            return false;
        subjects_suit(s);
        bool wanted = locate_tagged(&search, s);
        bool ok = !wanted || is_possible(s, paths->items[i], e);
        if (ok && wanted)
            (*count)++;
        else
            scenario_fini(s);
        if (!ok)
            return false;
    }
    return *count > 0 || locate_no_tag(&search, e);
}

int cli_worse(int a, int b)
{
    static const int order[] = {EXIT_INTERNAL, 1, EXIT_USAGE, 2, 3, 4};

    for (size_t i = 0; i < sizeof order / sizeof *order; i++) {
        if (a == order[i] || b == order[i])
            return order[i];
    }
    return EXIT_OK;
}

static bool tries_cuts(const struct options *o)
{
    return o->run.every_cut || o->run.every_kill;
}

static bool every_cut(const struct scenario *s, const struct options *o,
    const struct run_options *run, struct run_outcome *outcome, struct err *e)
{
    struct message_kind only;
    struct everycut_options how = {
        .action = o->run.every_kill ? ACTION_KILL : ACTION_CUT,
        .only = o->cut_at ? &only : NULL,
        .pairs = (size_t)o->run.pairs,
    };

    return (!o->cut_at || message_kind_parse(o->cut_at, &only, e)) &&
           everycut_run(s, run, &how, outcome, e);
}

// Runs a scenario once. False: there is no verdict, and e says why.
static bool run_once(const struct scenario *s, const struct options *o,
    const struct run_options *how, struct run_outcome *outcome, struct err *e)
{
    *outcome = (struct run_outcome){.lost = NAN, .duplicated = NAN, .p50_ms = NAN, .p99_ms = NAN};
    if (o->run.every_flush)
        return everyflush_run(s, how, outcome, e);
    return tries_cuts(o) ? every_cut(s, o, how, outcome, e) : run_scenario(s, how, outcome, e);
}

// Runs a scenario again while it is inconclusive. An inconclusive run keeps its folder and its
// table, but only the last try counts.
static bool run_with_retries(const struct scenario *s, const struct options *o,
    const struct run_options *how, struct tally *t, struct run_outcome *outcome, struct err *e)
{
    const size_t suites_len = t->suites.len;

    for (int retries = 0;; retries++) {
        if (!run_once(s, o, how, outcome, e))
            return false;
        if (outcome->verdict != VERDICT_INCONCLUSIVE || retries == o->run.retries ||
            interrupt_signal())
            return true;
        t->suites.len = suites_len;
        suite_hide(&t->table);
        printf("%s: inconclusive, tried again (%d of %d)\n", s->name, retries + 1, o->run.retries);
    }
}

static void end_row(struct suite *table, const struct scenario *s, bool judged,
    const struct run_outcome *outcome, const struct err *e)
{
    struct suite_run run = {.scenario = s->name,
        .state = judged                ? SUITE_JUDGED
                 : e->kind == ERR_SKIP ? SUITE_SKIPPED
                                       : SUITE_FAILED,
        .verdict = outcome->verdict,
        .lost = outcome->lost,
        .duplicated = outcome->duplicated,
        .p50_ms = outcome->p50_ms,
        .p99_ms = outcome->p99_ms};
    struct stored stored;
    struct err ignored;

    if (judged && stored_read(&stored, outcome->folder, &ignored))
        stored_broke(&stored, run.broke, sizeof run.broke);
    if (judged)
        snprintf(run.folder, sizeof run.folder, "%s", outcome->folder);
    else
        snprintf(run.why, sizeof run.why, "%s", e->text);
    suite_end(table, &run);
}

// Returns the exit code of one run; 0 also for a skipped one.
static int run_one(const struct scenario *s, const struct options *o, struct tally *t)
{
    struct run_options how = {
        .collector = o->collector,
        .postgres = o->conninfo,
        .out = o->out,
        .workers = o->run.workers,
        .keep = o->run.keep,
        .quiet = o->quiet,
        .partial = true,
        .brief = t->table.live && isatty(STDOUT_FILENO),
        .suite = t->table.live ? &t->table : NULL,
        .live = t->live,
        .suites = o->run.junit ? &t->suites : NULL,
    };
    struct run_outcome outcome = {0};
    struct err e = {0};

    t->runs++;
    bool judged = skips_none(s, o, &e) && run_with_retries(s, o, &how, t, &outcome, &e);
    suite_hide(&t->table);
    end_row(&t->table, s, judged, &outcome, &e);
    if (judged)
        return verdict_exit_code(outcome.verdict);
    if (e.kind == ERR_SKIP) {
        t->skipped++;
        report_junit_skipped(s->name, e.text, &t->suites);
        printf("%s: skipped: %s\n", s->name, e.text);
        return EXIT_OK;
    }
    report_junit_failed(s->name, e.text, &t->suites);
    fprintf(stderr, "mailproof: %s: %s\n", s->name, e.text);
    return e.kind == ERR_INTERRUPTED ? EXIT_OK : e.kind == ERR_USAGE ? EXIT_USAGE : EXIT_INTERNAL;
}

// Tells the JUnit file which scenarios were not run, because something ended the suite early.
static void tell_not_run(
    const struct scenario *scenarios, size_t count, const char *why, struct tally *t)
{
    t->table.not_run = count;
    for (size_t i = 0; i < count; i++)
        report_junit_skipped(scenarios[i].name, why, &t->suites);
}

static int run_each(
    const struct scenario *scenarios, size_t count, const struct options *o, struct tally *t)
{
    for (size_t i = 0; i < count; i++) {
        for (int n = 0; n < o->repeat; n++) {
            suite_begin(&t->table, i);
            int code = run_one(&scenarios[i], o, t);
            t->exit_code = cli_worse(t->exit_code, code);
            if (interrupt_signal()) {
                tell_not_run(&scenarios[i + 1], count - i - 1, "not run: interrupted", t);
                return EXIT_SIGNAL + interrupt_signal();
            }
            if (o->fail_fast && code != EXIT_OK) {
                tell_not_run(&scenarios[i + 1], count - i - 1, "not run: --fail-fast", t);
                return t->exit_code;
            }
        }
    }
    return t->skipped == t->runs ? EXIT_SKIPPED : t->exit_code;
}

static bool write_junit(const char *path, struct buf *suites, struct err *e)
{
    struct buf document;

    buf_init(&document, SUITES_MAX + 1000);
    bool ok = (report_junit_document(suites, &document) ||
                  err_set(e, ERR_INTERNAL, "--junit: too many runs for one file")) &&
              file_write("junit", path, &document, e);
    buf_fini(&document);
    return ok;
}

// Writes the page for a CI. A failure does not change the verdict of the runs.
static void write_summary(const struct suite *table)
{
    struct err e;

    if (path_exists(table->out) && !summary_write(table, table->out, &e))
        fprintf(stderr, "mailproof: the summary was not written: %s\n", e.text);
}

// Writes the index. A failure does not change the verdict of the runs.
static void refresh_index(const char *out)
{
    struct err e;

    if (path_exists(out) && !index_write(out, &e))
        fprintf(stderr, "mailproof: the index was not written: %s\n", e.text);
}

// Returns the length of a scenario's load and faults.
static int64_t planned_ns(const struct scenario *s)
{
    struct plan plan = {0};
    struct err ignored;
    int64_t ns = plan_make(&plan, s, &ignored) ? plan.end_ns : 0;

    plan_fini(&plan);
    return ns;
}

static bool make_table(struct suite *table, const struct scenario *scenarios, size_t count,
    const struct options *o, struct err *e)
{
    bool several = count * (size_t)o->repeat > 1;

    if (!suite_init(table, count, several && !o->quiet && !tries_cuts(o) && !o->run.every_flush, e))
        return false;
    table->out = o->out;
    for (size_t i = 0; i < count; i++) {
        table->rows[i].name = scenarios[i].name;
        table->rows[i].runs = o->repeat;
        table->rows[i].planned_ns = table->live ? planned_ns(&scenarios[i]) : 0;
    }
    return true;
}

static bool start_live(struct tally *t, const struct options *o, struct err *e)
{
    if (!o->run.metrics)
        return true;
    t->live = live_start(o->run.metrics, e);
    return t->live || err_prefix(e, "--metrics");
}

static int run_all(const struct scenario *scenarios, size_t count, const struct options *o)
{
    struct tally t = {0};
    struct err e;
    int code;

    buf_init(&t.suites, SUITES_MAX);
    if (start_live(&t, o, &e) && make_table(&t.table, scenarios, count, o, &e))
        code = run_each(scenarios, count, o, &t);
    else
        code = cli_fail(&e);
    if (t.runs + t.table.not_run > 1)
        suite_print(&t.table, stdout);
    if (t.runs > 0)
        write_summary(&t.table);
    if (o->run.junit && !write_junit(o->run.junit, &t.suites, &e))
        code = cli_fail(&e);
    refresh_index(o->out);
    live_stop(t.live);
    suite_fini(&t.table);
    buf_fini(&t.suites);
    return code;
}

static const char *cuts_option(const struct options *o)
{
    return o->run.every_kill ? "--every-kill" : "--every-cut";
}

// Checks that the options about cuts, kills and flushes go together. --cut-at must name a kind of
// message without a tag, because messages are counted by kind.
static bool cut_is_possible(const struct options *o, struct err *e)
{
    struct message_kind kind;

    if (o->run.every_cut && o->run.every_kill)
        return err_set(e, ERR_USAGE, "--every-cut and --every-kill do not go together");
    if (o->run.every_flush && tries_cuts(o))
        return err_set(e, ERR_USAGE, "%s does not go with --every-flush", cuts_option(o));
    if (o->run.every_flush && o->run.keep)
        return err_set(e, ERR_USAGE, "--keep does not go with --every-flush");
    if (o->run.metrics && (tries_cuts(o) || o->run.every_flush))
        return err_set(e, ERR_USAGE, "--metrics does not go with %s",
            o->run.every_flush ? "--every-flush" : cuts_option(o));
    if (tries_cuts(o) && o->run.keep)
        return err_set(e, ERR_USAGE, "--keep does not go with %s", cuts_option(o));
    if (!tries_cuts(o) && (o->cut_at || o->run.pairs))
        return err_set(e, ERR_USAGE, "--%s goes with --every-cut or --every-kill",
            o->cut_at ? "cut-at" : "pairs");
    if (!o->cut_at)
        return true;
    if (!message_kind_parse(o->cut_at, &kind, e))
        return err_prefix(e, "--cut-at");
    return !*kind.tag ||
           err_set(e, ERR_USAGE, "--cut-at takes no command's tag; leave '%s' out", kind.tag);
}

// Refuses what a trial cannot have: a second server and, where messages are cut, a second
// collector.
static bool cuts_fit(
    const struct scenario *scenarios, size_t count, const struct options *o, struct err *e)
{
    for (size_t i = 0; i < count; i++) {
        const struct scenario *s = &scenarios[i];
        const char *what = s->postgres.standby != STANDBY_NONE ? "postgres.standby"
                           : s->collector.instances > 1 && !o->run.every_flush
                               ? "more than one of collector.instances"
                               : NULL;
        if (what)
            return err_set(e, ERR_USAGE, "%s: %s does not go with %s", s->name, what,
                o->run.every_flush ? "--every-flush" : cuts_option(o));
        if (o->run.every_flush && s->postgres.storage != STORAGE_CRASHABLE)
            return err_set(
                e, ERR_USAGE, "%s: --every-flush needs postgres.storage: crashable", s->name);
    }
    return true;
}

int cli_run(const struct options *o)
{
    struct paths paths = {0};
    struct scenario *scenarios = NULL;
    struct subject_sets sets = {0};
    struct err e = {0};
    size_t count = 0;
    int code = EXIT_USAGE;

    if (!*o->args) {
        err_set(&e, ERR_USAGE, "run: name a scenario, or see 'mailproof list'%s",
            o->tag ? "; --tag chooses among those named: run scenarios --tag …" : "");
        goto out;
    }
    if (!cut_is_possible(o, &e))
        goto out;
    for (char *const *arg = o->args; *arg; arg++) {
        if (!locate_scenarios(&paths, *arg, &e))
            goto out;
    }
    scenarios = calloc(paths.count + 1, sizeof *scenarios);
    if (!scenarios) {
        err_memory(&e);
        goto out;
    }
    if (subjects_sets(&sets, o, &e) &&
        load_all(scenarios, &count, &paths, o, &sets.overrides, &e) &&
        skips_check(scenarios, count, o, &e) &&
        (!(tries_cuts(o) || o->run.every_flush) || cuts_fit(scenarios, count, o, &e)))
        code = run_all(scenarios, count, o);
out:
    if (e.kind != ERR_NONE)
        code = cli_fail(&e);
    for (size_t i = 0; i < count; i++)
        scenario_fini(&scenarios[i]);
    free(scenarios);
    subjects_sets_fini(&sets);
    locate_fini(&paths);
    return code;
}
