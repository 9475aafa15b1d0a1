// mailproof tune SCENARIO: a grid of batch limits and timeouts, run or simulated.
#include "cli/cli.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "cli/files.h"
#include "cli/locate.h"
#include "compare/compare.h"
#include "os/interrupt.h"
#include "plan/rng.h"
#include "runner.h"
#include "scenario/units.h"
#include "tune/model.h"
#include "tune/tune.h"

#define PAIRS_MAX 100
#define TEXT_MAX (1u << 20)
#define SHUFFLE_STREAM 2000 // of the scenario's seed

struct tuning {
    const struct options *options;
    const char *path;         // of the scenario's file
    struct scenario scenario; // as it is, with the objective
    struct tune_pair pairs[PAIRS_MAX];
    struct side runs[PAIRS_MAX]; // what was measured of each pair
    struct tune tune;
    struct model_phase *phases; // what the model is fed with
    struct model model;
    double budget_per_s; // 0: none was given
    char out[PATH_MAX / 2];
};

// --- options ------------------------------------------------------------------------

// Calls `add` for each item of a list separated by commas.
static bool each_item(const char *list, const char *option,
    bool (*add)(struct tuning *t, const char *item, struct err *e), struct tuning *t, struct err *e)
{
    char item[40];

    for (const char *p = list;; p++) {
        size_t len = strcspn(p, ",");
        snprintf(item, sizeof item, "%.*s", (int)(len < 39 ? len : 39), p);
        if (!add(t, item, e))
            return err_prefix(e, "--%s", option);
        p += len;
        if (!*p)
            return true;
    }
}

static bool add_pair(struct tuning *t, const char *timeout, struct err *e)
{
    struct tune_pair *p = &t->pairs[t->tune.count];

    if (t->tune.count == PAIRS_MAX)
        return err_set(e, ERR_USAGE, "more than %d pairs", PAIRS_MAX);
    p->limit = t->model.limit;
    p->model_p50_ms = p->model_tokens_per_batch = NAN;
    for (enum metric_id id = 0; id < METRIC_COUNT; id++)
        p->values[id] = NAN;
    t->tune.count++;
    return units_duration(timeout, &p->timeout_ns, e);
}

static bool add_limit(struct tuning *t, const char *limit, struct err *e)
{
    const char *timeouts = t->options->timeouts;
    int64_t count;

    if (!units_count(limit, &count, e))
        return false;
    if (count < 1 || count > 100000)
        return err_set(e, ERR_USAGE, "1 to 100000, not '%s'", limit);
    t->model.limit = (int)count;
    return each_item(timeouts ? timeouts : "10ms,100ms,1s", "timeout", add_pair, t, e);
}

// Money becomes a rate through the price: "$100/month" at "0.10/1000".
static bool read_money(struct tuning *t, struct err *e)
{
    const double month_s = 30 * 86400;
    double money, price, count;
    char end;

    if (!t->options->price)
        return err_set(e, ERR_USAGE, "--budget: money needs a --price, e.g. 0.10/1000");
    if (sscanf(t->options->price, "%lf/%lf%c", &price, &count, &end) != 2 || !(price > 0) ||
        !(count > 0))
        return err_set(e, ERR_USAGE, "--price is money for e-mails, e.g. 0.10/1000, not '%.40s'",
            t->options->price);
    int read = 0;
    if (sscanf(t->options->budget, "$%lf/month%n", &money, &read) != 1 || read == 0 ||
        t->options->budget[read] || !(money > 0))
        return err_set(
            e, ERR_USAGE, "--budget is 0.38/s or $100/month, not '%.40s'", t->options->budget);
    t->budget_per_s = money / price * count / month_s;
    return true;
}

static bool read_budget(struct tuning *t, struct err *e)
{
    const char *budget = t->options->budget;

    if (!budget)
        return true;
    if (*budget == '$')
        return read_money(t, e);
    return (units_per_second(budget, &t->budget_per_s, e) || err_prefix(e, "--budget")) &&
           (t->budget_per_s > 0 || err_set(e, ERR_USAGE, "--budget must be more than 0/s"));
}

// The scenario's own parser takes the objective as one more expectation.
static bool load_scenario(struct tuning *t, struct err *e)
{
    struct overrides sets = options_overrides(t->options);
    const char *objective = t->options->objective;
    const char **items = calloc(sets.count + 1, sizeof *items);
    char set[200], metric[64] = "";

    if (!items)
        return err_set(e, ERR_INTERNAL, "out of memory");
    for (size_t i = 0; i < sets.count; i++)
        items[i] = sets.items[i];
    if (objective) {
        size_t len = strcspn(objective, " <>=!");
        snprintf(metric, sizeof metric, "%.*s", (int)(len < 63 ? len : 63), objective);
        snprintf(set, sizeof set, "expect.%s=%s", metric,
            objective + len + strspn(objective + len, " "));
        items[sets.count++] = set;
    }
    sets.items = items;
    bool ok = scenario_load(&t->scenario, t->path, &sets, e);
    free(items);
    for (size_t i = 0; ok && i < t->scenario.expect_count; i++) {
        if (strcmp(t->scenario.expect[i].metric, metric) == 0)
            t->tune.objective = &t->scenario.expect[i];
    }
    return ok;
}

// --- simulating -----------------------------------------------------------------------

static bool phases_of_load(struct tuning *t, struct err *e)
{
    const struct scenario *s = &t->scenario;

    for (size_t i = 0; i < s->load_count; i++) {
        const struct load_phase *p = &s->load[i];
        if (p->closed || p->file)
            return err_set(e, ERR_USAGE,
                "the model needs rates: phase %zu has none; give one with --rate", i + 1);
        t->phases[i] = (struct model_phase){p->for_ns, (p->rate_from + p->rate_to) / 2};
    }
    t->model.phase_count = s->load_count;
    return true;
}

static bool prepare_model(struct tuning *t, struct err *e)
{
    const struct options *o = t->options;
    struct model *m = &t->model;

    m->phases = t->phases = calloc(t->scenario.load_count + 1, sizeof *t->phases);
    m->period_ns = scenario_load_ns(&t->scenario);
    m->query_ns = 2 * NS_PER_MS;
    m->seed = t->scenario.seed;
    if (!t->phases)
        return err_set(e, ERR_INTERNAL, "out of memory");
    if ((o->period && !units_duration(o->period, &m->period_ns, e)) ||
        (o->query_time && !units_duration(o->query_time, &m->query_ns, e)))
        return err_prefix(e, "--period, --query-time");
    if (!o->rate)
        return phases_of_load(t, e);
    m->phase_count = 1;
    t->phases[0].for_ns = NS_PER_S;
    return units_per_second(o->rate, &t->phases[0].rate_per_s, e) || err_prefix(e, "--rate");
}

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
    size_t order[PAIRS_MAX];
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

// How far the model is from what was measured: half of the pairs are closer.
static void tell_model(const struct tuning *t, struct buf *out)
{
    double p50[PAIRS_MAX], tokens[PAIRS_MAX];
    size_t n = 0;

    for (size_t i = 0; i < t->tune.count; i++) {
        const struct tune_pair *p = &t->pairs[i];
        if (isnan(p->model_p50_ms) || isnan(p->values[METRIC_COMMIT_LATENCY_P50]))
            continue;
        p50[n] = fabs(p->model_p50_ms / p->values[METRIC_COMMIT_LATENCY_P50] - 1);
        tokens[n++] = fabs(p->model_tokens_per_batch / p->tokens_per_batch - 1);
    }
    if (n == 0)
        return;
    double p50_median = stats_median(p50, n), tokens_median = stats_median(tokens, n);
    // Sorted now: the last is the largest.
    buf_printf(out,
        "The model of the batch window, with %.3g ms for a query, is off by %.0f%% for the p50 "
        "from "
        "commit (median of pairs; largest %.0f%%), by %.0f%% for tokens per batch (largest "
        "%.0f%%).\n",
        (double)t->model.query_ns / NS_PER_MS, 100 * p50_median, 100 * p50[n - 1],
        100 * tokens_median, 100 * tokens[n - 1]);
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
        tell_model(t, &text);
    bool ok = tell_budget(t, &text, e);
    if (ok && (fwrite(text.data, 1, text.len, stdout) != text.len || fflush(stdout) != 0))
        ok = err_sys(e, ERR_OUTPUT, "cannot write the table");
    buf_fini(&text);
    return ok && write_file("markdown", o->markdown, tune_print_markdown, &t->tune, e) &&
           write_file("json", o->json_file, tune_print_json, &t->tune, e) &&
           write_file("csv", o->csv, tune_print_csv, &t->tune, e);
}

// --- all of it ------------------------------------------------------------------------

static bool name_folder(struct tuning *t, struct err *e)
{
    time_t now = time(NULL);
    char stamp[40];
    struct tm utc;

    strftime(stamp, sizeof stamp, "%Y%m%dT%H%M%SZ", gmtime_r(&now, &utc));
    int len = snprintf(t->out, sizeof t->out, "%s/tune/%s", t->options->out, stamp);
    return len < (int)sizeof t->out || err_set(e, ERR_USAGE, "--out: the path is too long");
}

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

    if (!prepare_model(t, &ignored))
        return false;
    if (!t->options->query_time && measured_query_ns(t) > 0)
        t->model.query_ns = measured_query_ns(t);
    return simulate_all(t, false, &ignored);
}

static bool tune(struct tuning *t, struct err *e)
{
    const char *limits = t->options->limits;

    if (!load_scenario(t, e) || !read_budget(t, e) || !name_folder(t, e) ||
        !each_item(limits ? limits : "1,10,50", "limit", add_limit, t, e))
        return false;
    if (t->options->model)
        return prepare_model(t, e) && simulate_all(t, true, e) && tell(t, e);
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
    if (ok) {
        t->options = o;
        t->path = paths.items[0];
        t->tune.pairs = t->pairs;
        ok = tune(t, &e);
    }
    int code = ok ? EXIT_OK : interrupt_signal() ? EXIT_SIGNAL + interrupt_signal() : cli_fail(&e);
    for (size_t i = 0; t && i < t->tune.count; i++)
        side_fini(&t->runs[i]);
    if (t) {
        free(t->phases);
        scenario_fini(&t->scenario);
    }
    free(t);
    locate_fini(&paths);
    return code;
}
