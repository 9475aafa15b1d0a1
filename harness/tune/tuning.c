#include "tune/tuning.h"

#include <math.h>

#include "options/options.h"
#include "os/paths.h"
#include "options/command_record.h"
#include "scenario/needs.h"
#include "scenario/trace.h"
#include "scenario/units.h"

// Calls `add` for each item of a list separated by commas. False as soon as `add` fails. An item is
// cut after 39 characters; `add` refuses all items of that length, as no number has so many digits.
static bool each_item(const char *list,
    bool (*add)(struct tuning *t, const char *item, struct err *e), struct tuning *t, struct err *e)
{
    char item[40];

    for (const char *p = list;; p++) {
        size_t len = strcspn(p, ",");
        snprintf(item, sizeof item, "%.*s", (int)(len < 39 ? len : 39), p);
        if (!add(t, item, e))
            return false;
        p += len;
        if (!*p)
            return true;
    }
}

// Adds the pair of the limit in t->model.limit and this timeout to the grid.
static bool add_pair(struct tuning *t, const char *timeout, struct err *e)
{
    struct tune_pair *p = &t->pairs[t->tune.count];

    if (t->tune.count == TUNE_PAIRS_MAX)
        return err_set(e, ERR_USAGE, "--limit, --timeout: more than %d pairs", TUNE_PAIRS_MAX);
    p->limit = t->model.limit;
    // NAN means "not measured", until a run or the model gives the figure.
    p->model_p50_ms = p->model_tokens_per_batch = NAN;
    p->model_p50_off = p->model_tokens_off = NAN;
    p->cost = (struct tune_cost){NAN, NAN, NAN, NAN};
    p->judged = precision_of(NULL, 0);
    for (enum metric_id id = 0; id < METRIC_COUNT; id++)
        p->values[id] = NAN;
    t->tune.count++;
    if (!units_duration(timeout, &p->timeout_ns, e))
        return err_prefix(e, "--timeout");
    // A scenario's batch timeout is one hour at most. The model takes any.
    return t->options->tune.model || p->timeout_ns <= 3600 * NS_PER_S ||
           err_set(e, ERR_USAGE, "--timeout takes up to 1h, not '%s'", timeout);
}

// Adds the pairs of this limit with each timeout to the grid.
static bool add_limit(struct tuning *t, const char *limit, struct err *e)
{
    const char *timeouts = t->options->tune.timeouts;
    int64_t count;

    if (!units_count(limit, &count, e))
        return err_prefix(e, "--limit");
    if (count < 1 || count > 100000)
        return err_set(e, ERR_USAGE, "--limit takes 1 to 100000, not '%s'", limit);
    // add_pair takes the limit from here.
    t->model.limit = (int)count;
    return each_item(timeouts ? timeouts : "10ms,100ms,1s", add_pair, t, e);
}

// Reads a budget in money and converts it to e-mails per second by the price, such as "$100/month"
// at "0.10/1000".
static bool read_money(struct tuning *t, struct err *e)
{
    const double month_s = 30 * 86400;
    double money, price, count;
    char end;

    if (!t->options->tune.price)
        return err_set(e, ERR_USAGE, "--budget: money needs a --price, e.g. 0.10/1000");
    // sscanf must find no further character (%c); otherwise "0.10/1000x" would pass.
    if (sscanf(t->options->tune.price, "%lf/%lf%c", &price, &count, &end) != 2 || !(price > 0) ||
        !(count > 0))
        return err_set(e, ERR_USAGE, "--price is money for e-mails, e.g. 0.10/1000, not '%.40s'",
            t->options->tune.price);
    int length = 0;
    if (sscanf(t->options->tune.budget, "$%lf/month%n", &money, &length) != 1 || length == 0 ||
        t->options->tune.budget[length] || !(money > 0))
        return err_set(
            e, ERR_USAGE, "--budget is 0.38/s or $100/month, not '%.40s'", t->options->tune.budget);
    t->budget_per_s = money / price * count / month_s;
    return true;
}

// Reads --budget, in e-mails per second or in money. Without it budget_per_s stays 0.
static bool read_budget(struct tuning *t, struct err *e)
{
    const char *budget = t->options->tune.budget;

    if (budget && *budget == '$')
        return read_money(t, e);
    if (t->options->tune.price)
        return err_set(e, ERR_USAGE, "--price needs a --budget in money, e.g. $100/month");
    if (!budget)
        return true;
    return (units_per_second(budget, &t->budget_per_s, e) || err_prefix(e, "--budget")) &&
           (t->budget_per_s > 0 || err_set(e, ERR_USAGE, "--budget must be more than 0/s"));
}

// Rewrites an error about the objective so that it names --for. The parser's error names --set
// expect..., because load_scenario passes the objective on in that form. Any other error stays as
// it is. Always returns false.
static bool blame_objective(const char *set, struct err *e)
{
    char blame[220], why[sizeof e->text];
    int len = snprintf(blame, sizeof blame, "--set %s: ", set);

    if (strncmp(e->text, blame, (size_t)len) != 0)
        return false;
    snprintf(why, sizeof why, "%s", e->text + len);
    return err_set(e, ERR_USAGE, "--for '%.100s': %s", set + strlen("expect."), why);
}

// Loads the scenario. The objective, such as "latency.p99 < 250ms", is passed to the scenario's
// parser as one more expectation, "expect.latency.p99=< 250ms"; t->tune.objective then points to
// it.
static bool load_scenario(struct tuning *t, struct err *e)
{
    struct overrides sets = options_overrides(t->options);
    const char *objective = t->options->tune.objective;
    const char **items = memory_zeroed(sets.count + 1, sizeof *items);
    char set[200], metric[64] = "";

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
    bool ok = (scenario_load(&t->scenario, t->path, &sets, e) && needs_met(&t->scenario, e)) ||
              (objective && blame_objective(set, e));
    free(items);
    for (size_t i = 0; ok && i < t->scenario.expect_count; i++) {
        if (strcmp(t->scenario.expect[i].metric, metric) == 0)
            t->tune.objective = &t->scenario.expect[i];
    }
    return ok;
}

static int by_pair(const void *a, const void *b)
{
    const struct tune_pair *x = a, *y = b;

    if (x->limit != y->limit)
        return x->limit < y->limit ? -1 : 1;
    return (x->timeout_ns > y->timeout_ns) - (x->timeout_ns < y->timeout_ns);
}

// Makes all pairs of --limit and --timeout, sorted by limit and then by timeout.
static bool make_grid(struct tuning *t, struct err *e)
{
    const char *limits = t->options->tune.limits;

    if (!each_item(limits ? limits : "1,10,50", add_limit, t, e))
        return false;
    qsort(t->pairs, t->tune.count, sizeof *t->pairs, by_pair);
    // If a pair were in the grid twice, its runs would take twice the time, and chance would decide
    // which of the two is better.
    for (size_t i = 1; i < t->tune.count; i++) {
        if (by_pair(&t->pairs[i - 1], &t->pairs[i]) == 0)
            return err_set(e, ERR_USAGE,
                "--limit, --timeout: limit %d is given twice with the same timeout",
                t->pairs[i].limit);
    }
    return true;
}

// Refuses more runs of a pair than struct measured has room for.
static bool check_repeat(const struct options *o, struct err *e)
{
    // Each pair has one more run, which counts round trips.
    const int most = MEASURED_MAX - 1;

    return o->repeat <= most ||
           err_set(e, ERR_USAGE, "--repeat: tune runs a pair at most %d times, not %d", most,
               o->repeat);
}

// Without --model, refuses the options of the model. The runs do not follow them, and the model
// that is compared with the runs must have the load of the runs.
static bool check_model_options(const struct options *o, struct err *e)
{
    const struct {
        const char *name, *value;
        bool is_load;
    } options[] = {
        {"rate", o->tune.rate, true},
        {"arrivals", o->tune.arrivals, true},
        {"trace", o->tune.trace, true},
        {"period", o->tune.period, false},
        {"query-time", o->tune.query_time, false},
    };

    for (size_t i = 0; !o->tune.model && i < sizeof options / sizeof *options; i++) {
        if (options[i].value)
            return err_set(e, ERR_USAGE, "--%s goes with --model%s", options[i].name,
                options[i].is_load ? "; change the load of runs with --set load.0.rate=..." : "");
    }
    return true;
}

// With --model, refuses an objective about a figure that the model does not compute: no pair would
// seem to keep it.
static bool check_model_objective(const struct tuning *t, struct err *e)
{
    const struct expectation *x = t->tune.objective;
    enum metric_id id = x ? metric_find(x->metric)->id : METRIC_LATENCY_P99;

    return !t->options->tune.model || (id >= METRIC_LATENCY_P50 && id <= METRIC_LATENCY_MEAN) ||
           err_set(e, ERR_USAGE, "--for: the model computes latency.p50 to latency.mean, not %s",
               x->metric);
}

bool tuning_init(struct tuning *t, const struct options *o, const char *path, struct err *e)
{
    t->options = o;
    t->path = path;
    t->repeat = o->repeat > 0 ? o->repeat : 1;
    t->tune.pairs = t->pairs;
    t->tune.read_ms = t->tune.turn_ms = NAN;
    if (o->shard.of && o->tune.model)
        return err_set(e, ERR_USAGE, "--shard does not go with --model, which makes no runs");
    if (!check_repeat(o, e) || !check_model_options(o, e) || !load_scenario(t, e) ||
        !check_model_objective(t, e))
        return false;
    t->tune.scenario = t->scenario.name;
    return read_budget(t, e) && values_within(o, "5m", &t->within_ns, e) &&
           files_dated_folder(t->out, sizeof t->out, o->out, "tune", e) && make_grid(t, e);
}

void tuning_fini(struct tuning *t)
{
    for (size_t i = 0; i < t->tune.count; i++)
        measured_fini(&t->runs[i]);
    command_record_close(&t->record);
    queries_fini(&t->queries);
    phase_fini(&t->arrivals[0]);
    scenario_fini(&t->scenario);
}

// --- the load and the query times of the model ----------------------------------------

// True when all phases of the load have rates. A closed loop has no intended times from which to
// count latency, and no arrivals for the model.
static bool load_has_rates(const struct tuning *t, struct err *e)
{
    for (size_t i = 0; i < t->scenario.load_count; i++) {
        if (t->scenario.load[i].closed)
            return err_set(e, ERR_USAGE,
                "tune needs rates, and load.%zu is a closed loop: give it a rate with --set "
                "load.%zu.rate=...%s",
                i, i, t->options->tune.model ? " or --rate" : "");
    }
    return true;
}

// Returns how long one pass of a trace lasts when it is repeated. The first arrival of the next
// pass comes one average gap after the last arrival, or later if the trace begins with a longer
// pause.
static int64_t length_of_trace(const struct load_phase *p)
{
    int64_t first_ns = p->trace_ns[0], last_ns = p->trace_ns[p->trace_count - 1];
    int64_t gap_ns = (last_ns - first_ns) / (int64_t)(p->trace_count - 1);

    return gap_ns > first_ns ? last_ns + gap_ns - first_ns : last_ns;
}

// Reads the arrivals of --trace into the first phase of the model, and makes it as long as the
// trace.
static bool read_trace(struct tuning *t, struct err *e)
{
    struct load_phase *p = &t->arrivals[0];

    if (!t->options->tune.trace)
        return err_set(e, ERR_USAGE, "--arrivals trace needs --trace FILE");
    p->arrivals = ARRIVALS_TRACE;
    // trace_read refuses arrivals after the end of the phase. The length is known only afterwards.
    p->for_ns = INT64_MAX;
    // trace_read makes a file name from the phase's name, so the phase needs one meanwhile.
    p->name = (char[]){"trace"};
    p->file = memory_copy(t->options->tune.trace);
    bool ok = trace_read(p, "", e) || err_prefix(e, "--trace");
    p->name = NULL;
    if (!ok)
        return false;
    // length_of_trace needs a gap between two arrivals. A trace of length 0 could not be repeated.
    if (p->trace_count < 2 || p->trace_ns[p->trace_count - 1] == 0)
        return err_set(e, ERR_USAGE, "--trace needs two arrivals or more, the last one after 0 s");
    p->for_ns = length_of_trace(p);
    return true;
}

// Reads what follows "on-off:", such as "1s/9s": bursts of one second with pauses of nine seconds.
// A burst has all the tokens of these ten seconds at `rate` (tokens per second).
static bool read_on_off(struct tuning *t, const char *text, double rate, struct err *e)
{
    struct load_phase *on = &t->arrivals[0], *off = &t->arrivals[1];
    char part[40];
    size_t len = strcspn(text, "/");

    snprintf(part, sizeof part, "%.*s", (int)(len < 39 ? len : 39), text);
    if (text[len] != '/' || !units_duration(part, &on->for_ns, e) ||
        !units_duration(text + len + 1, &off->for_ns, e) || on->for_ns == 0)
        return err_set(e, ERR_USAGE, "--arrivals on-off:1s/9s names two times, not '%.40s'", text);
    *off = (struct load_phase){
        .for_ns = off->for_ns, .arrivals = ARRIVALS_POISSON, .rows_from = 1, .rows_to = 1};
    on->arrivals = ARRIVALS_POISSON;
    // The given rate is the average over the whole cycle, so that a load with bursts can be
    // compared with a steady one.
    on->rate_from = on->rate_to = rate * (double)(on->for_ns + off->for_ns) / (double)on->for_ns;
    t->model.phase_count = 2;
    return true;
}

// Makes the load from `kind`, the value of --arrivals, unless that is a trace; `rate` is in tokens
// per second.
static bool read_arrivals(struct tuning *t, const char *kind, double rate, struct err *e)
{
    struct load_phase *p = &t->arrivals[0];

    if (strncmp(kind, "on-off:", 7) == 0)
        return read_on_off(t, kind + 7, rate, e);
    p->rate_from = p->rate_to = rate;
    // The phase is as long as the period, so it does not end before the period does.
    p->for_ns = t->model.period_ns;
    p->arrivals = strcmp(kind, "constant") == 0 ? ARRIVALS_CONSTANT : ARRIVALS_POISSON;
    return strcmp(kind, "constant") == 0 || strcmp(kind, "poisson") == 0 ||
           err_set(e, ERR_USAGE,
               "--arrivals takes poisson, constant, on-off:1s/9s or trace, not '%.40s'", kind);
}

// Makes the model's load from --rate, --arrivals and --trace. Without a rate or a trace it has the
// average rate of the scenario's load.
static bool make_arrivals(struct tuning *t, struct err *e)
{
    const struct options *o = t->options;
    const char *kind = o->tune.arrivals ? o->tune.arrivals : o->tune.trace ? "trace" : "poisson";
    const bool from_trace = strcmp(kind, "trace") == 0;
    double rate = 0;

    if (!from_trace && o->tune.trace)
        return err_set(e, ERR_USAGE, "--trace does not go with --arrivals %.40s", kind);
    if (from_trace && o->tune.rate)
        return err_set(
            e, ERR_USAGE, "--rate does not go with a trace, which has a rate of its own");
    if (!from_trace && !o->tune.rate && !load_has_rates(t, e))
        return false;
    // The model still has the load of the scenario here.
    rate = model_rate(&t->model);
    if (o->tune.rate && !units_per_second(o->tune.rate, &rate, e))
        return err_prefix(e, "--rate");
    t->model.phases = t->arrivals;
    t->model.phase_count = 1;
    t->arrivals[0].rows_from = t->arrivals[0].rows_to = 1;
    if (!from_trace)
        return read_arrivals(t, kind, rate, e);
    if (!read_trace(t, e))
        return false;
    // By default the trace is used once. A longer --period repeats it.
    if (!o->tune.period)
        t->model.period_ns = t->arrivals[0].for_ns;
    return true;
}

// Reads the query times of the model from --query-time; by default every query takes 2 ms.
static bool read_queries(struct tuning *t, struct err *e)
{
    const char *given = t->options->tune.query_time;
    int64_t query_ns = 2 * NS_PER_MS;
    struct err no_file;
    struct buf text FREED_BY(buf_fini) = BUF_INIT(TUNING_QUERIES_MAX);

    // --query-time names a file of measured times, or gives one time for all queries, such as 2ms.
    bool is_file = given && path_read(given, &text, ERR_USAGE, &no_file);
    bool ok = is_file ? queries_parse_csv(&t->queries, text.data, e)
                      : !given || units_duration(given, &query_ns, e);
    if (!is_file)
        queries_add(&t->queries.reads, 1, query_ns);
    queries_ready(&t->queries);
    return ok || err_prefix(e, "--query-time");
}

bool tuning_model(struct tuning *t, struct err *e)
{
    const struct options *o = t->options;
    struct model *m = &t->model;

    m->phases = t->scenario.load;
    m->phase_count = t->scenario.load_count;
    m->period_ns = scenario_load_ns(&t->scenario);
    m->queries = &t->queries;
    m->seed = t->scenario.seed;
    if (o->tune.period && !units_duration(o->tune.period, &m->period_ns, e))
        return err_prefix(e, "--period");
    if (!o->tune.rate && !o->tune.arrivals && !o->tune.trace)
        return load_has_rates(t, e) && read_queries(t, e);
    return make_arrivals(t, e) && read_queries(t, e);
}
