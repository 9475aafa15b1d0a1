// The runs of `mailproof run`, made one after another or taken from a record.
//
// Each run is an item with a number in the record (shards/shard_record.h). If an earlier call or
// another machine has made the run already, its line is taken from the record. In either case
// add_run gets it, so the table, JUnit and the exit code do not depend on where the run was made.
//
// A run that cannot be made does not end the suite. Only a signal, --fail-fast or an error of the
// record ends the suite.
#include "cli/cli.h"

#include <math.h>

#include "options/command_record.h"
#include "options/options.h"
#include "os/interrupt.h"
#include "os/paths.h"
#include "plan/plan.h"
#include "report/files/live.h"
#include "report/files/parse_json.h"
#include "report/files/stored.h"
#include "report/files/summary.h"
#include "report/forecast.h"
#include "report/pages/index.h"
#include "report/report.h"
#include "report/suite.h"
#include "run/cuts/cuts.h"
#include "run/soak_plan.h"
#include "run/suite_item.h"
#include "run/runner.h"

#define SUITES_MAX (256u << 20)

// The state of the suite: the record, and the results of all runs so far.
struct tally {
    struct record record; // an item for each run
    json_t *known;        // owned; the lines of runs that are over already, in the order of their
                          // numbers
    size_t known_at;      // index in `known` of the next line to be used
    uint64_t item;        // number of the present run
    int repeat;           // number of runs of each scenario
    struct soak_plan soak;
    int64_t index_due_ns; // of a soak: when index.html is next due
    int exit_code;        // worst exit code so far
    size_t runs, skipped;
    struct buf suites;  // the JUnit suites of all runs
    struct suite table; // one row per scenario
    struct live *live;  // NULL without --metrics
};

// Runs a scenario once, or all trials of --every-cut and the like. Returns false when there is no
// verdict, and e says why.
static bool run_item(const struct scenario *s, const struct options *o,
    const struct run_options *how, struct tally *t, struct run_outcome *outcome, struct err *e)
{
    *outcome = (struct run_outcome){.lost = NAN, .duplicated = NAN, .p50_ms = NAN, .p99_ms = NAN};
    if (o->run.every_flush)
        return everyflush_run(s, how, outcome, e);
    return cuts_tried(o) ? cuts_run(s, o, how, &t->record, t->item, outcome, e)
                         : run_scenario(s, how, outcome, e);
}

// Runs a scenario, and repeats it while it is inconclusive, as --retry-inconclusive says. Each try
// keeps its folder and prints its table, but only the last try counts.
static bool run_with_retries(const struct scenario *s, const struct options *o,
    const struct run_options *how, struct tally *t, struct run_outcome *outcome, struct err *e)
{
    for (int retries = 0;; retries++) {
        if (!run_item(s, o, how, t, outcome, e))
            return false;
        // A merge makes no runs, so it has nothing to repeat.
        if (outcome->verdict != VERDICT_INCONCLUSIVE || retries == o->run.retries ||
            t->record.merged || interrupt_signal())
            return true;
        // junit.xml has one suite for each run, which is that of the last try.
        if (how->suites)
            buf_clear(how->suites);
        suite_hide(&t->table);
        printf("%s: inconclusive, tried again (%d of %d)\n", s->name, retries + 1, o->run.retries);
    }
}

// Fills in the item of a run: its figures and folder or, if it was not judged, why not.
static void take_outcome(
    struct suite_item *ran, bool judged, const struct run_outcome *outcome, const struct err *e)
{
    struct suite_run *run = &ran->run;
    struct stored stored;
    struct err ignored;

    run->state = judged ? SUITE_JUDGED : e->kind == ERR_SKIP ? SUITE_SKIPPED : SUITE_FAILED;
    run->verdict = outcome->verdict;
    // A run that was not judged has no figures. Zeros would read as figures.
    run->lost = judged ? outcome->lost : NAN;
    run->duplicated = judged ? outcome->duplicated : NAN;
    run->p50_ms = judged ? outcome->p50_ms : NAN;
    run->p99_ms = judged ? outcome->p99_ms : NAN;
    // The broken invariants are read from the folder, as a merge reads them, so that both show the
    // same.
    if (judged && stored_read(&stored, outcome->folder, &ignored))
        stored_broke(&stored, run->broke, sizeof run->broke);
    if (judged)
        snprintf(ran->folder, sizeof ran->folder, "%s", outcome->folder);
    else
        snprintf(ran->why, sizeof ran->why, "%s", e->text);
}

// Prints why a run has no verdict, and returns its exit code.
static int tell_failure(const struct scenario *s, const struct err *e, struct buf *junit)
{
    // A skip is not an error. If all runs were skipped, run_each makes the suite's exit code 77.
    if (e->kind == ERR_SKIP) {
        report_junit_skipped(s->name, e->text, junit);
        printf("%s: skipped: %s\n", s->name, e->text);
        return EXIT_OK;
    }
    // A report that failed may have added the run's suite before. Each run has one suite.
    if (junit)
        buf_clear(junit);
    report_junit_failed(s->name, e->text, junit);
    fprintf(stderr, "mailproof: %s: %s\n", s->name, e->text);
    // After a signal, run_each sets the exit code for the signal.
    return e->kind == ERR_INTERRUPTED ? EXIT_OK : e->kind == ERR_USAGE ? EXIT_USAGE : EXIT_INTERNAL;
}

// Runs a scenario and fills in the item: its result, or why there is none.
static void run_one(
    const struct scenario *s, const struct options *o, struct tally *t, struct suite_item *ran)
{
    struct run_options how = {
        .collector = o->collector,
        .postgres = o->conninfo,
        .out = o->out,
        .workers = o->run.workers,
        .keep = o->run.keep,
        .quiet = o->quiet,
        .partial = true, // the first signal only ends the load
        // A run that passes prints nothing: a soak has thousands, and the live table shows it.
        .brief = o->run.soak || (t->table.live && isatty(STDOUT_FILENO)),
        .suite = t->table.live ? &t->table : NULL,
        .live = t->live,
        // A later call takes the run's JUnit text from the record, if it asks for --junit.
        .suites = o->run.junit || t->record.file ? &ran->junit : NULL,
    };
    struct run_outcome outcome = {0};
    struct err e = {0};

    if (o->run.soak)
        s = soak_plan_segment(&t->soak, t->item, &how.segment);
    // A skip costs nothing, so it is decided before a server is started.
    bool judged = skips_permit(s, o, &e) && run_with_retries(s, o, &how, t, &outcome, &e);
    suite_hide(&t->table);
    ran->run.scenario = s->name;
    ran->run.took_ns = clock_now_ns() - t->table.run_began_ns;
    take_outcome(ran, judged, &outcome, &e);
    ran->exit_code = judged ? verdict_exit_code(outcome.verdict) : tell_failure(s, &e, &ran->junit);
}

// Adds a run to the results of all runs, no matter whether it was made now, earlier or by another
// machine.
static void add_run(struct tally *t, const struct options *o, const struct suite_item *ran)
{
    t->runs++;
    t->skipped += ran->run.state == SUITE_SKIPPED;
    t->exit_code = cli_worse(t->exit_code, ran->exit_code);
    suite_end(&t->table, &ran->run);
    if (o->run.junit)
        buf_append(&t->suites, ran->junit.data, ran->junit.len);
}

// Returns the line of run `number` if that run is over already, else NULL. Must be called with
// rising numbers.
static const json_t *known_line(struct tally *t, uint64_t number)
{
    for (; t->known_at < json_array_size(t->known); t->known_at++) {
        const json_t *line = json_array_get(t->known, t->known_at);
        if (parse_integer(line, "n") >= (int64_t)number)
            return parse_integer(line, "n") == (int64_t)number ? line : NULL;
    }
    return NULL;
}

// Writes the summary page for a CI. A failure does not change the exit code.
static void write_summary(const struct suite *table)
{
    struct err e;

    // Without this folder no run was made, and the folder is not made for a page alone.
    if (path_exists(table->out) && !summary_write(table, table->out, &e))
        fprintf(stderr, "mailproof: the summary was not written: %s\n", e.text);
}

// Writes the index of the results. A failure does not change the exit code.
static void refresh_index(const char *out)
{
    struct err e;

    if (path_exists(out) && !index_write(out, &e))
        fprintf(stderr, "mailproof: the index was not written: %s\n", e.text);
}

// Writes the pages of a soak while it goes on, because a soak takes so long that people look at
// them before its end: the summary after each segment, the index once an hour.
static void show_so_far(struct tally *t, const struct options *o)
{
    const int64_t hour_ns = 3600 * NS_PER_S;
    int64_t now_ns = clock_now_ns();

    write_summary(&t->table);
    if (now_ns < t->index_due_ns)
        return;
    t->index_due_ns = now_ns + hour_ns;
    refresh_index(o->out);
}

// Drops the record's lines from memory, where they would grow for as long as the soak goes on. They
// are needed no more: the tables have them, and the file keeps them. A soak that is continued uses
// all lines that the record has before it makes a segment of its own.
static void forget_lines(struct tally *t)
{
    json_array_clear(t->known);
    record_forget(&t->record);
}

// Takes run `number` from the record, or makes it. Leaves it out if it belongs to another shard.
// *code gets the run's exit code; 0 for a run that is left out. False on an error of the record.
static bool make_or_take_run(uint64_t number, size_t scenario, const struct scenario *s,
    const struct options *o, struct tally *t, int *code, struct err *e)
{
    // With --every-cut or --every-kill the shards share the trials of each run. So each shard has a
    // part of each run, and the run's result is computed from the lines of the trials.
    const bool parts = cuts_tried(o);
    const json_t *line = parts ? NULL : known_line(t, number);
    struct suite_item ran;
    bool ok = true;

    *code = EXIT_OK;
    if (!line && !parts && !record_wants(&t->record, number))
        return true;
    t->item = number;
    suite_item_init(&ran);
    suite_begin(&t->table, scenario);
    if (!line && o->run.soak)
        forget_lines(t);
    if (line)
        ok = (suite_item_read(&ran, line, e) &&
                 command_record_path(ran.folder, &t->record, line, "folder", e)) ||
             err_prefix(e, "%s/%s", record_folder(&t->record, line), RECORD_NAME);
    else
        run_one(s, o, t, &ran);
    ran.run.scenario = s->name; // the scenario outlives the line, to which the name may point
    if (ok)
        add_run(t, o, &ran);
    // Only after a segment that was made now; those in the record were shown when they were made.
    if (ok && !line && o->run.soak)
        show_so_far(t, o);
    // A run that a signal ended early is not recorded, so that it is made again when the command
    // goes on.
    if (ok && !line && !parts && !interrupt_signal())
        ok = record_add(&t->record, suite_item_write(&ran, number, o->out), e);
    *code = ran.exit_code;
    suite_item_fini(&ran);
    return ok;
}

// Adds the scenarios that were not run, because the suite ended early, to the table and to JUnit.
static void tell_not_run(
    const struct scenario *scenarios, size_t count, const char *why, struct tally *t)
{
    t->table.not_run = count;
    for (size_t i = 0; i < count; i++)
        report_junit_skipped(scenarios[i].name, why, &t->suites);
}

// Makes all runs, or takes them from the record, until the end, a signal or a failure with
// --fail-fast. Returns false on an error of the record.
static bool run_each(const struct scenario *scenarios, size_t count, const struct options *o,
    struct tally *t, struct err *e)
{
    uint64_t number = 0;
    int code;

    for (size_t i = 0; i < count; i++) {
        for (int n = 0; n < t->repeat; n++) {
            if (!make_or_take_run(number++, i, &scenarios[i], o, t, &code, e))
                return false;
            if (interrupt_signal()) {
                // The present scenario has a result of its own, so it is not among those that were
                // not run.
                tell_not_run(&scenarios[i + 1], count - i - 1, "not run: interrupted", t);
                t->exit_code = EXIT_SIGNAL + interrupt_signal();
                return true;
            }
            if (o->fail_fast && code != EXIT_OK && !o->merged) { // a merge makes no runs
                tell_not_run(&scenarios[i + 1], count - i - 1, "not run: --fail-fast", t);
                // The record of a whole command is `temporary`: record_finish removes it, because
                // this ends the command. A shard's record stays unfinished, so that a merge says
                // that runs are missing.
                return !t->record.temporary || record_finish(&t->record, e);
            }
        }
    }
    // If all runs were skipped, the suite counts as skipped. A single judged run prevents that.
    if (t->runs > 0 && t->skipped == t->runs)
        t->exit_code = EXIT_SKIPPED;
    return record_finish(&t->record, e);
}

static bool write_junit(const char *path, struct buf *suites, struct err *e)
{
    struct buf document FREED_BY(buf_fini) = BUF_INIT(SUITES_MAX + 1000);

    return (report_junit_document(suites, &document) ||
               err_set(e, ERR_INTERNAL, "--junit: too many runs for one file")) &&
           file_write("junit", path, &document, e);
}

// Returns the length of a scenario's load and faults, and adds `runs` runs of it to the forecast. A
// scenario that cannot be planned has length 0 and no part in the forecast: its run tells why.
static int64_t planned_ns(const struct scenario *s, size_t runs, struct forecast *f)
{
    struct plan plan FREED_BY(plan_fini) = {0};
    struct err ignored;
    bool ok = plan_make(&plan, s, &ignored);
    int64_t ns = ok ? plan.end_ns : 0;

    if (ok)
        forecast_add(f, runs, ns, plan.token_count, forecast_servers(s));
    return ns;
}

// Returns how many runs of a scenario are still to be made here; 0 when it is skipped.
static size_t count_left(
    const struct tally *t, size_t scenario, const struct scenario *s, const struct options *o)
{
    size_t count = 0;
    struct err ignored;

    if (!skips_permit(s, o, &ignored))
        return 0;
    for (int n = 0; n < t->repeat; n++) {
        uint64_t number = scenario * (size_t)t->repeat + (size_t)n;
        count += record_wants(&t->record, number) && !record_line(t->known, number);
    }
    return count;
}

// Returns how many runs of a scenario are to be made here or taken from the record.
static int count_runs(const struct tally *t, size_t scenario, const struct options *o)
{
    int count = 0;

    // A merge has the runs of all shards. With --every-cut or --every-kill each shard has a part of
    // each run.
    for (int n = 0; n < t->repeat; n++)
        count += t->record.merged || cuts_tried(o) ||
                 record_wants(&t->record, scenario * (size_t)t->repeat + (size_t)n);
    return count;
}

// Makes the suite's table, a row for each scenario, and tells how long the runs will take.
static void make_table(
    struct tally *t, const struct scenario *scenarios, size_t count, const struct options *o)
{
    bool several = count * (size_t)t->repeat > 1;
    // Cuts and flushes show progress of their own, and their number is known only after a first
    // run.
    bool shows_progress = !o->quiet && !o->merged && !cuts_tried(o) && !o->run.every_flush;
    struct suite *table = &t->table;
    struct forecast forecast = {0};

    suite_init(table, count, several && shows_progress);
    table->out = o->out;
    table->soak = o->run.soak;
    table->gaps = record_gaps(&t->record);
    for (size_t i = 0; i < count; i++) {
        table->rows[i].name = scenarios[i].name;
        table->rows[i].runs = count_runs(t, i, o);
        table->rows[i].planned_ns =
            planned_ns(&scenarios[i], count_left(t, i, &scenarios[i], o), &forecast);
    }
    if (shows_progress && (forecast.runs > 1 || forecast.ns > 60 * NS_PER_S))
        forecast_tell(&forecast, "run", "runs");
}

// Opens the record. It has a file only if there may be something to resume: several runs, the
// trials of --every-cut or --every-kill, or a shard.
static bool open_record(struct tally *t, const struct scenario *scenarios, size_t count,
    const struct options *o, struct err *e)
{
    char about[COMMAND_RECORD_ABOUT_MAX];

    // The first run makes the folder, but a merge makes no runs.
    if ((o->merged && !path_make(o->out, e)) ||
        !command_record_about(about, o, scenarios, count, e) ||
        !command_record_open(
            &t->record, o, "run", about, count * (size_t)t->repeat > 1 || cuts_tried(o), e))
        return false;
    t->known = record_sorted(&t->record);
    return true;
}

static bool start_live(struct tally *t, const struct options *o, struct err *e)
{
    if (!o->run.metrics)
        return true;
    t->live = live_start(o->run.metrics, e);
    return t->live || err_prefix(e, "--metrics");
}

int run_suite(const struct scenario *scenarios, size_t count, const struct options *o)
{
    struct tally t = {.repeat = o->repeat};
    struct err e;

    buf_init(&t.suites, SUITES_MAX);
    bool ok = soak_plan_begin(&t.soak, scenarios, count, o, &t.repeat, &e) &&
              open_record(&t, scenarios, count, o, &e) && start_live(&t, o, &e);
    if (ok) {
        make_table(&t, scenarios, count, o);
        ok = run_each(scenarios, count, o, &t, &e);
    }
    soak_plan_end(&t.soak);
    int code = ok ? t.exit_code : cli_fail(&e);
    // The runs that were made are printed and stored even if the rest could not be made.
    if (t.runs + t.table.not_run > 1 || o->merged)
        suite_print(&t.table, stdout);
    if (t.runs > 0)
        write_summary(&t.table);
    if (o->run.junit && !write_junit(o->run.junit, &t.suites, &e))
        code = cli_fail(&e);
    refresh_index(o->out);
    live_stop(t.live);
    suite_fini(&t.table);
    json_decref(t.known);
    command_record_close(&t.record);
    buf_fini(&t.suites);
    return code;
}
