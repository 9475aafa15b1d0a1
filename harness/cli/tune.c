// mailproof tune SCENARIO: a grid of batch limits and timeouts, run or simulated.
#include "cli/cli.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "cli/files.h"
#include "cli/locate.h"
#include "cli/tuning.h"
#include "os/interrupt.h"
#include "plan/rng.h"
#include "runner.h"

#define TEXT_MAX (1u << 20)
#define SHUFFLE_STREAM 2000 // of the scenario's seed

// --- simulating -----------------------------------------------------------------------

static void take_latency(struct tune_pair *p, const struct histogram *h)
{
    static const double percentiles[] = {50, 90, 99, 99.9, 100};

    for (int i = 0; i < 5; i++)
        p->values[(int)METRIC_LATENCY_P50 + i] =
            (double)histogram_percentile(h, percentiles[i]) / NS_PER_MS;
    p->values[METRIC_LATENCY_MEAN] = histogram_mean(h) / NS_PER_MS;
}

static bool simulate_pair(struct tuning *t, struct tune_pair *p, bool instead, struct err *e)
{
    struct model_result r;

    t->model.limit = p->limit;
    t->model.timeout_ns = p->timeout_ns;
    bool ok = model_run(&r, &t->model, e);
    if (ok) {
        p->model_p50_ms = (double)histogram_percentile(&r.latency, 50) / NS_PER_MS;
        p->model_tokens_per_batch = model_tokens_per_batch(&r);
    }
    if (ok && instead) {
        take_latency(p, &r.latency);
        p->tokens_per_batch = p->model_tokens_per_batch;
    }
    model_result_fini(&r);
    return ok;
}

static bool simulate_all(struct tuning *t, bool instead, struct err *e)
{
    bool ok = true;

    for (size_t i = 0; ok && i < t->tune.count; i++)
        ok = simulate_pair(t, &t->pairs[i], instead, e);
    return ok;
}

// --- running --------------------------------------------------------------------------

static bool run_pair(struct tuning *t, size_t i, struct err *e)
{
    const struct tune_pair *p = &t->pairs[i];
    struct run_options how = {.collector = t->options->collector,
        .out = t->out,
        .postgres = t->options->conninfo,
        .quiet = t->options->quiet,
        .silent = true};
    struct run_outcome outcome;
    struct stored run;

    t->scenario.collector.batch_limit = p->limit;
    t->scenario.collector.batch_timeout_ns = p->timeout_ns;
    if (!run_scenario(&t->scenario, &how, &outcome, e) || !stored_read(&run, outcome.folder, e))
        return false;
    if (interrupt_signal())
        return err_set(e, ERR_INTERRUPTED, "interrupted");
    if (!t->options->quiet)
        printf("  limit %d, timeout %lld ms: %s, latency.p99 %.4g ms\n", p->limit,
            (long long)(p->timeout_ns / NS_PER_MS), verdict_name(run.verdict),
            run.values[METRIC_LATENCY_P99]);
    return side_add(&t->runs[i], &run) || err_set(e, ERR_INTERNAL, "out of memory");
}

static void shuffle(size_t *order, size_t count, uint64_t seed)
{
    struct rng rng;

    rng_init(&rng, seed, SHUFFLE_STREAM);
    for (size_t i = count; i > 1; i--) {
        size_t k = rng_below(&rng, i), swap = order[k];
        order[k] = order[i - 1];
        order[i - 1] = swap;
    }
}

static double median_of(const struct side *s, enum metric_id id)
{
    double values[100];
    size_t n = 0;

    for (size_t i = 0; i < s->count && n < 100; i++) {
        if (s->runs[i].verdict != VERDICT_INCONCLUSIVE && !isnan(s->runs[i].values[id]))
            values[n++] = s->runs[i].values[id];
    }
    return stats_median(values, n);
}

static void take_runs(struct tune_pair *p, const struct side *runs)
{
    for (enum metric_id id = 0; id < METRIC_COUNT; id++)
        p->values[id] = median_of(runs, id);
    p->tokens_per_batch = p->values[METRIC_DELIVERED] / p->values[METRIC_COLLECTOR_BATCHES];
    for (size_t i = 0; i < runs->count; i++)
        p->broken = p->broken || compare_violated_for_good(&runs->runs[i]);
}

// In an order that has nothing to do with the grid's, so that what drifts on the
// machine is not taken for an effect of the pair.
static bool run_all(struct tuning *t, struct err *e)
{
    size_t order[TUNE_PAIRS_MAX] = {0};
    bool ok = true;

    for (size_t i = 0; i < t->tune.count; i++)
        order[i] = i;
    for (int n = 0; ok && n < t->options->repeat; n++) {
        shuffle(order, t->tune.count, t->scenario.seed + (uint64_t)n);
        for (size_t i = 0; ok && i < t->tune.count; i++)
            ok = run_pair(t, order[i], e);
    }
    for (size_t i = 0; ok && i < t->tune.count; i++)
        take_runs(&t->pairs[i], &t->runs[i]);
    return ok;
}

// --- telling --------------------------------------------------------------------------

// Does the load fit the budget, and what would a limiter do to those who wait?
static bool tell_budget(struct tuning *t, struct buf *out, struct err *e)
{
    const struct tune_pair *p = tune_recommend(&t->tune);
    double rate = model_rate(&t->model);
    struct model_result r;

    if (t->budget_per_s <= 0 || !p)
        return true;
    if (rate > t->budget_per_s) {
        buf_printf(out,
            "The load of %.4g/s does not fit the budget of %.4g/s: a limiter would let the queue "
            "grow by %.3g e-mails an hour.\n",
            rate, t->budget_per_s, (rate - t->budget_per_s) * 3600);
        return true;
    }
    t->model.limit = p->limit;
    t->model.timeout_ns = p->timeout_ns;
    t->model.budget_per_s = t->budget_per_s;
    bool ok = model_run(&r, &t->model, e);
    if (ok)
        buf_printf(out,
            "The load of %.4g/s fits the budget of %.4g/s; a limiter at that rate would raise the "
            "simulated p99 from %.4g ms to %.4g ms.\n",
            rate, t->budget_per_s, (double)histogram_percentile(&r.latency, 99) / NS_PER_MS,
            (double)histogram_percentile(&r.sent, 99) / NS_PER_MS);
    model_result_fini(&r);
    t->model.budget_per_s = 0;
    return ok;
}

static bool write_file(const char *option, const char *path,
    bool (*print)(const struct tune *t, struct buf *out), const struct tune *t, struct err *e)
{
    struct buf text;

    if (!path)
        return true;
    buf_init(&text, TEXT_MAX);
    bool ok = (print(t, &text) || err_set(e, ERR_INTERNAL, "--%s: out of memory", option)) &&
              file_write(option, path, &text, e);
    buf_fini(&text);
    return ok;
}

static bool tell(struct tuning *t, struct err *e)
{
    const struct options *o = t->options;
    struct buf text;

    buf_init(&text, TEXT_MAX);
    tune_judge(&t->tune);
    tune_print(&t->tune, &text);
    tune_print_recommendation(&t->tune, &text);
    if (!o->model)
        tune_print_model(&t->tune, t->model.query_ns, &text);
    bool ok = tell_budget(t, &text, e);
    if (ok && (fwrite(text.data, 1, text.len, stdout) != text.len || fflush(stdout) != 0))
        ok = err_sys(e, ERR_OUTPUT, "cannot write the table");
    buf_fini(&text);
    return ok && write_file("markdown", o->markdown, tune_print_markdown, &t->tune, e) &&
           write_file("json", o->json_file, tune_print_json, &t->tune, e) &&
           write_file("csv", o->csv, tune_print_csv, &t->tune, e);
}

// --- all of it ------------------------------------------------------------------------

// What dequeuing and writing take, as pairs show it in which nothing waits.
static int64_t measured_query_ns(const struct tuning *t)
{
    double least_ms = NAN;

    for (size_t i = 0; i < t->tune.count; i++) {
        if (t->pairs[i].limit == 1)
            least_ms = fmin(least_ms, t->pairs[i].values[METRIC_COMMIT_LATENCY_P50]);
    }
    return isnan(least_ms) ? 0 : (int64_t)(least_ms * NS_PER_MS);
}

// A scenario without rates can be run, but not simulated beside it.
static bool simulate_beside(struct tuning *t)
{
    struct err ignored;

    if (!tuning_model(t, &ignored))
        return false;
    if (!t->options->query_time && measured_query_ns(t) > 0)
        t->model.query_ns = measured_query_ns(t);
    return simulate_all(t, false, &ignored);
}

static bool tune(struct tuning *t, struct err *e)
{
    if (t->options->model)
        return tuning_model(t, e) && simulate_all(t, true, e) && tell(t, e);
    if (!run_all(t, e))
        return false;
    if (!simulate_beside(t) && t->budget_per_s > 0)
        return err_set(e, ERR_USAGE, "--budget needs a load with rates");
    return tell(t, e);
}

int cli_tune(const struct options *o)
{
    struct tuning *t = calloc(1, sizeof *t);
    struct paths paths = {0};
    struct err e = {0};

    bool ok = (t || err_set(&e, ERR_INTERNAL, "out of memory")) &&
              ((o->args[0] && !o->args[1]) ||
                  err_set(&e, ERR_USAGE, "tune: name one scenario, or see 'mailproof list'")) &&
              locate_scenarios(&paths, o->args[0], &e) &&
              (paths.count == 1 || err_set(&e, ERR_USAGE, "tune: one scenario at a time"));
    if (ok)
        ok = tuning_init(t, o, paths.items[0], &e) && tune(t, &e);
    int code = ok ? EXIT_OK : interrupt_signal() ? EXIT_SIGNAL + interrupt_signal() : cli_fail(&e);
    if (t)
        tuning_fini(t);
    free(t);
    locate_fini(&paths);
    return code;
}
