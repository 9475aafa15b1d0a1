#include "cli/tuning.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "scenario/units.h"

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

    if (t->tune.count == TUNE_PAIRS_MAX)
        return err_set(e, ERR_USAGE, "more than %d pairs", TUNE_PAIRS_MAX);
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

static bool name_folder(struct tuning *t, struct err *e)
{
    time_t now = time(NULL);
    char stamp[40];
    struct tm utc;

    strftime(stamp, sizeof stamp, "%Y%m%dT%H%M%SZ", gmtime_r(&now, &utc));
    int len = snprintf(t->out, sizeof t->out, "%s/tune/%s", t->options->out, stamp);
    return len < (int)sizeof t->out || err_set(e, ERR_USAGE, "--out: the path is too long");
}

bool tuning_init(struct tuning *t, const struct options *o, const char *path, struct err *e)
{
    const char *limits = o->limits ? o->limits : "1,10,50";

    t->options = o;
    t->path = path;
    t->tune.pairs = t->pairs;
    return load_scenario(t, e) && read_budget(t, e) && name_folder(t, e) &&
           each_item(limits, "limit", add_limit, t, e);
}

void tuning_fini(struct tuning *t)
{
    for (size_t i = 0; i < t->tune.count; i++)
        side_fini(&t->runs[i]);
    free(t->phases);
    scenario_fini(&t->scenario);
}

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

bool tuning_model(struct tuning *t, struct err *e)
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
