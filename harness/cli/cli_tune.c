// mailproof tune SCENARIO: runs or simulates a grid of batch limits and timeouts, and recommends a
// pair of them.
#include "cli/cli.h"

#include <math.h>

#include "options/options.h"
#include "options/locate.h"
#include "tune/tuning.h"
#include "os/interrupt.h"
#include "os/paths.h"
#include "report/terminal.h"
#include "tune/export.h"

#define TEXT_MAX (1u << 20)
#define MEASURED_PAIRS 3

// --- simulating -----------------------------------------------------------------------

// Fills in METRIC_LATENCY_P50 to METRIC_LATENCY_MAX, which stand in this order, and the mean.
static void take_latency(struct tune_pair *p, const struct histogram *h)
{
    static const double percentiles[] = {50, 90, 99, 99.9, 100};

    for (int i = 0; i < 5; i++)
        p->values[(int)METRIC_LATENCY_P50 + i] =
            (double)histogram_percentile(h, percentiles[i]) / NS_PER_MS;
    p->values[METRIC_LATENCY_MEAN] = histogram_mean(h) / NS_PER_MS;
}

static bool simulate_pair(struct tuning *t, struct tune_pair *p, struct err *e)
{
    struct model_result r FREED_BY(model_result_fini) = {0};

    t->model.limit = p->limit;
    t->model.timeout_ns = p->timeout_ns;
    bool ok = model_run(&r, &t->model, e);
    if (ok) {
        p->model_p50_ms = (double)histogram_percentile(&r.latency, 50) / NS_PER_MS;
        p->tokens_per_batch = p->model_tokens_per_batch = model_tokens_per_batch(&r);
        take_latency(p, &r.latency);
    }
    return ok;
}

static bool simulate_all(struct tuning *t, struct err *e)
{
    bool ok = true;

    for (size_t i = 0; ok && i < t->tune.count; i++)
        ok = simulate_pair(t, &t->pairs[i], e);
    return ok;
}

// Chooses the pairs to run: those that come first in the model, so that there is time to measure
// them often. If none of them can be recommended, sweep runs the others, too. A shard, which does
// not know the runs of other shards, cannot tell that, so it runs all pairs. --repeat asks for all
// pairs, and where runs of shards are merged (o->merged), none is made here.
static bool choose_pairs(struct tuning *t, struct err *e)
{
    const struct options *o = t->options;

    if (o->shard.of || o->merged || o->repeat > 0 || t->tune.count <= MEASURED_PAIRS)
        return true;
    if (!simulate_all(t, e))
        return false;
    tune_judge(&t->tune);
    tune_leave_out(&t->tune, MEASURED_PAIRS);
    return true;
}

// --- printing -------------------------------------------------------------------------

// Writes 36000 as "36,000".
static void print_grouped(uint64_t number, struct buf *out)
{
    if (number >= 1000) {
        print_grouped(number / 1000, out);
        buf_printf(out, ",%03" PRIu64, number % 1000);
    } else {
        buf_printf(out, "%" PRIu64, number);
    }
}

// Writes a figure, a large one without the exponent that %g would give it.
static void print_plain(double value, struct buf *out)
{
    if (value >= 1000)
        print_grouped((uint64_t)(value + 0.5), out);
    else
        buf_printf(out, "%.4g", value);
}

// Writes the load and the budget, such as "The load of 50/s exceeds the budget of 40/s".
static void print_load(const struct tuning *t, double rate, const char *verb, struct buf *out)
{
    buf_append_str(out, "The load of ");
    print_plain(rate, out);
    buf_printf(out, "/s %s the budget of ", verb);
    print_plain(t->budget_per_s, out);
    buf_append_str(out, "/s");
}

// Writes whether the load fits the budget. If so, writes how long a limiter would hold mails back;
// if not, how fast the queue would grow.
static bool tell_budget(struct tuning *t, struct buf *out, struct err *e)
{
    const struct tune_pair *p = tune_recommend(&t->tune);
    double rate = model_rate(&t->model);
    struct model_result r;

    if (t->budget_per_s <= 0 || !p)
        return true;
    if (rate > t->budget_per_s) {
        // A budget counts mails and not lines, so larger batches save nothing.
        t->tune.over_budget = true;
        print_load(t, rate, "exceeds", out);
        buf_append_str(out, ": the queue would grow by ");
        print_grouped((uint64_t)ceil((rate - t->budget_per_s) * 3600), out);
        buf_append_str(out, " mails an hour, whatever the limit and the timeout.\n");
        return true;
    }
    // The limiter is simulated for the recommended pair only; the others were judged without it.
    t->model.limit = p->limit;
    t->model.timeout_ns = p->timeout_ns;
    t->model.budget_per_s = t->budget_per_s;
    bool ok = model_run(&r, &t->model, e);
    if (ok) {
        print_load(t, rate, "fits", out);
        buf_append_str(out, "; a limiter at that rate would raise the simulated p99 from ");
        print_plain((double)histogram_percentile(&r.latency, 99) / NS_PER_MS, out);
        buf_append_str(out, " ms to ");
        print_plain((double)histogram_percentile(&r.sent, 99) / NS_PER_MS, out);
        buf_append_str(out, " ms.\n");
    }
    model_result_fini(&r);
    t->model.budget_per_s = 0;
    return ok;
}

static bool write_tune_file(const char *option, const char *path,
    bool (*print)(const struct tune *t, struct buf *out), const struct tune *t, struct err *e)
{
    struct buf text FREED_BY(buf_fini) = BUF_INIT(TEXT_MAX);

    if (!path)
        return true;
    return (print(t, &text) || err_set(e, ERR_INTERNAL, "--%s: the table is too long", option)) &&
           file_write(option, path, &text, e);
}

// Writes the files about the whole table into tune's folder, beside the runs.
static bool write_folder(const struct tuning *t, struct err *e)
{
    static const struct {
        const char *name;
        bool (*print)(const struct tune *t, struct buf *out);
    } files[] = {{"tune.html", export_html}, {"tune.json", export_json}, {"tune.csv", export_csv},
        {"tune.md", export_markdown}};
    bool ok = path_make(t->out, e) || err_prefix(e, "--out");

    for (size_t i = 0; ok && i < sizeof files / sizeof *files; i++) {
        char path[PATH_MAX];
        ok = path_join(path, t->out, files[i].name, e) &&
             write_tune_file("out", path, files[i].print, &t->tune, e);
    }
    return ok;
}

// Writes the measured query times to a file, which --query-time of a later --model can read.
static bool write_queries(const struct tuning *t, struct err *e)
{
    struct buf text FREED_BY(buf_fini) = BUF_INIT(TUNING_QUERIES_MAX);
    char path[PATH_MAX];

    // A single measured read gives no distribution from which a later model could draw.
    if (t->tune.simulated || t->queries.reads.count < 2)
        return true;
    return path_join(path, t->out, "queries.csv", e) &&
           (queries_print_csv(&t->queries, &text) ||
               err_set(e, ERR_INTERNAL, "queries.csv would be too long")) &&
           file_write("out", path, &text, e);
}

static void print_tune_results(const struct tuning *t)
{
    struct buf text FREED_BY(buf_fini) = BUF_INIT(TEXT_MAX);

    print_table(&t->tune, &text);
    print_heat_maps(&t->tune, terminal_colours(STDOUT_FILENO), &text);
    tune_print_recommendation(&t->tune, &text);
    tune_print_model(&t->tune, &text);
    fwrite(text.data, 1, text.len, stdout);
}

// Judges all pairs, prints the recommendation, with a text on how the load fits --budget, and
// writes the files.
static bool tell_recommendation(struct tuning *t, struct err *e)
{
    const struct options *o = t->options;
    struct buf budget FREED_BY(buf_fini) = BUF_INIT(1000);

    tune_judge(&t->tune);
    bool ok = tell_budget(t, &budget, e);
    t->tune.budget = buf_str(&budget);
    // The terminal comes before the files, so that a recommendation that took hours is not lost
    // when a disk is full.
    if (ok)
        print_tune_results(t);
    ok = ok && write_folder(t, e) && write_queries(t, e);
    if (ok)
        printf("  results     %s/tune.html\n", t->out);
    ok = ok && write_tune_file("markdown", o->markdown, export_markdown, &t->tune, e) &&
         write_tune_file("json", o->json_file, export_json, &t->tune, e) &&
         write_tune_file("csv", o->csv, export_csv, &t->tune, e);
    // The text is in `budget`, which is freed now.
    t->tune.budget = NULL;
    return ok;
}

// --- the whole command ----------------------------------------------------------------

// Replaces the assumed query times of the model by measured ones, if there are any.
static void take_queries(struct tuning *t)
{
    struct queries measured = {0};

    measured_queries(&measured, t->runs, t->tune.count, t->tune.count);
    if (measured.reads.count == 0)
        return;
    queries_fini(&t->queries);
    t->queries = measured;
}

static bool tune(struct tuning *t, struct err *e)
{
    t->tune.simulated = t->options->tune.model;
    if (t->options->tune.model)
        return tuning_model(t, e) && simulate_all(t, e) && tell_recommendation(t, e);
    // The model is made first, so that a mistake in the load is reported before the runs and not
    // after them.
    if (!tuning_model(t, e) || !choose_pairs(t, e) || !sweep(t, e) ||
        !measured_model(t->runs, &t->tune, t->scenario.seed, e))
        return false;
    take_queries(t);
    return tell_recommendation(t, e);
}

// Returns 0 when there is a recommendation and the load fits the budget. Otherwise returns the exit
// code of the verdict that explains why not; after a signal, the exit code for that signal.
static int tune_exit_code(const struct tuning *tuning)
{
    const struct tune *t = &tuning->tune;

    if (t->interrupted)
        return EXIT_SIGNAL + interrupt_signal();
    // A shard has only a part of the runs, so `mailproof merge` makes the recommendation.
    if (tuning->options->shard.of)
        return EXIT_OK;
    if (t->over_budget)
        return verdict_exit_code(VERDICT_MISSED);
    if (tune_recommend(t))
        return EXIT_OK;
    if (!tune_has_result(t))
        return verdict_exit_code(VERDICT_INCONCLUSIVE);
    // A pair that broke no invariant can only have missed the objective.
    return verdict_exit_code(
        t->objective && !tune_all_broken(t) ? VERDICT_MISSED : VERDICT_VIOLATED);
}

int cli_tune(const struct options *o)
{
    struct tuning *t FREED_BY(memory_free) = memory_zeroed(1, sizeof *t);
    struct paths paths FREED_BY(locate_fini) = {0};
    struct err e = {0};

    bool ok = ((o->args[0] && !o->args[1]) ||
                  err_set(&e, ERR_USAGE, "tune: name one scenario, or see 'mailproof list'")) &&
              locate_scenarios(&paths, o->args[0], &e) &&
              (paths.count == 1 || err_set(&e, ERR_USAGE, "tune: one scenario at a time"));
    if (ok)
        ok = tuning_init(t, o, paths.items[0], &e) && tune(t, &e);
    int code = ok ? tune_exit_code(t) : cli_fail(&e);
    tuning_fini(t);
    return code;
}
