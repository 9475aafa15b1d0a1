// The figures of a run: latencies, rates, and the generator's own lag.
#include "check/inside.h"

#include <math.h>

static const int64_t catch_up_ns = NS_PER_S; // a fault excuses this long before and after it, too

bool check_generator_excused(const struct ledger *l, int64_t intended_ns)
{
    for (size_t i = 0; i < l->fault_count; i++) {
        const struct fault_record *f = &l->faults[i];
        // After a long outage the generator needs time to send what it could not send before.
        int64_t behind_ns = catch_up_ns + (f->ended_ns - f->began_ns) / 2;
        // From sought_ns on the harness may prepare the fault, for example by a checkpoint, until
        // it strikes at began_ns. That slows the load, too.
        int64_t from_ns = clock_min(f->sought_ns, f->began_ns - catch_up_ns);
        // The time is tested first: it is cheap, and nearly always decides.
        if (intended_ns < from_ns || intended_ns > f->ended_ns + behind_ns)
            continue;
        const struct verb *verb = f->spec->verb;
        if (f->began_ns &&
            (verb_stops_server(verb) || verb->needs_disk || f->spec->target != TARGET_COLLECTOR))
            return true;
    }
    return false;
}

// Records how late each insert was sent, where only the generator can be to blame. An insert of a
// backlog or of a closed loop has no planned time, so it cannot be late.
static void record_lags(struct result *r, const struct ledger *l)
{
    for (size_t i = 0; i < l->plan->txn_count; i++) {
        const struct plan_txn *planned = &l->plan->txns[i];
        int64_t intended_ns = l->start_ns + planned->at_ns;
        if (l->txns[i].sent_ns && !(planned->flags & TXN_BACKLOG) &&
            !l->scenario->load[planned->phase].closed && !check_generator_excused(l, intended_ns))
            histogram_record(&r->lag, l->txns[i].sent_ns - intended_ns);
    }
}

// Fills in the six metrics that begin with `first`: p50, p90, p99, p99.9, maximum and mean, in ms.
static void put_latencies(struct result *r, enum metric_id first, const struct histogram *h)
{
    static const double percentiles[] = {50, 90, 99, 99.9, 100};

    if (h->total == 0)
        return;
    for (int i = 0; i < 5; i++)
        r->values[(int)first + i] = (double)histogram_percentile(h, percentiles[i]) / 1e6;
    r->values[(int)first + 5] = histogram_mean(h) / 1e6;
}

// Where the harness answers, measures the time from a token's intended insert to its final answer.
// A token that waits for a retry has none yet, and one that is dead after too many errors never
// gets one.
static void put_outcome_latencies(struct result *r, const struct ledger *l)
{
    struct histogram h FREED_BY(histogram_fini) = {0};

    histogram_init(&h, 60 * NS_PER_S);
    for (size_t i = 0; i < l->log->delivery_count; i++) {
        const struct delivery *d = &l->log->deliveries[i];
        bool final = d->reply == REPLY_SENT || d->reply == REPLY_PERMANENT;
        if (final && d->replied_ns != 0 && check_delivers(l, d) && stages_measurable(l, d->token))
            histogram_record(&h, d->replied_ns - ledger_intended_ns(l, d->token));
    }
    if (h.total > 0) {
        r->values[METRIC_OUTCOME_LATENCY_P50] = (double)histogram_percentile(&h, 50) / 1e6;
        r->values[METRIC_OUTCOME_LATENCY_P99] = (double)histogram_percentile(&h, 99) / 1e6;
        r->values[METRIC_OUTCOME_LATENCY_MAX] = (double)h.max / 1e6;
    }
}

static double last_delivery_s(const struct ledger *l)
{
    size_t lines = l->log->line_count;

    return lines ? ledger_seconds(l, l->log->lines[lines - 1].read_ns) : 0;
}

static double last_commit_s(const struct ledger *l)
{
    int64_t last = 0;

    for (size_t i = 0; i < l->plan->txn_count; i++) {
        if (l->txns[i].outcome == TXN_COMMITTED && l->txns[i].ended_ns > last)
            last = l->txns[i].ended_ns;
    }
    return last ? ledger_seconds(l, last) : 0;
}

// Returns a count per second: divides by the time that was given to the load, or by the time that
// it really took if that was longer.
static double per_second(double count, double given_s, double took_s)
{
    double s = took_s > given_s ? took_s : given_s;

    return s > 0 ? count / s : 0;
}

// Returns how many tokens the plan inserts before the load begins.
static double backlog_tokens(const struct ledger *l)
{
    const size_t txns = plan_backlog_txns(l->plan);
    double backlog = 0;

    for (size_t i = 0; i < txns; i++)
        backlog += l->plan->txns[i].rows;
    return backlog;
}

// Returns what a rate, of commits or of deliveries, would be without this much of the generator's
// lag: as if the last commit or delivery had come earlier by lag_s. The backlog is committed before
// the load, so its commits do not count. It is delivered during the load, so its deliveries do.
static double rate_less_lag(const struct result *r, const struct ledger *l,
    const struct check_input *in, enum metric_id id, double lag_s)
{
    double given_s = (double)l->plan->load_ns / 1e9;

    // A run that was ended early has not given the load all of its time.
    if (check_ended_early(in))
        given_s = fmin(given_s, ledger_seconds(l, l->load_end_ns));

    if (id == METRIC_RATE_DELIVERED)
        return per_second(r->values[METRIC_DELIVERED], given_s, last_delivery_s(l) - lag_s);
    return per_second(fmax(r->values[METRIC_COMMITTED] - backlog_tokens(l), 0), given_s,
        last_commit_s(l) - lag_s);
}

// Sets rate.offered by the plan, and the rates achieved and delivered by what was measured.
static void put_rates(struct result *r, const struct ledger *l, const struct check_input *in)
{
    // A closed loop offers whatever its connections can take, so it has no rate of its own.
    if (!scenario_has_closed_loop(l->scenario))
        r->values[METRIC_RATE_OFFERED] = per_second(
            (double)l->plan->token_count - backlog_tokens(l), (double)l->plan->load_ns / 1e9, 0);
    // The generator's lag is left in the figures. check_less_lag takes it out.
    r->values[METRIC_RATE_ACHIEVED] = rate_less_lag(r, l, in, METRIC_RATE_ACHIEVED, 0);
    r->values[METRIC_RATE_DELIVERED] = rate_less_lag(r, l, in, METRIC_RATE_DELIVERED, 0);
}

double check_less_lag(
    const struct result *r, const struct ledger *l, const struct check_input *in, enum metric_id id)
{
    static const double percentiles[METRIC_COUNT] = {[METRIC_LATENCY_P50] = 50,
        [METRIC_LATENCY_P90] = 90,
        [METRIC_LATENCY_P99] = 99,
        [METRIC_LATENCY_P999] = 99.9,
        [METRIC_LATENCY_MAX] = 100,
        [METRIC_OUTCOME_LATENCY_P50] = 50,
        [METRIC_OUTCOME_LATENCY_P99] = 99,
        [METRIC_OUTCOME_LATENCY_MAX] = 100};
    double value = r->values[id];

    // The latency of each token contains the token's lag, so each percentile of the latencies
    // contains the same percentile of the lags, and their mean contains the mean of the lags.
    if (percentiles[id] > 0)
        return value - (double)histogram_percentile(&r->lag, percentiles[id]) / 1e6;
    if (id == METRIC_LATENCY_MEAN)
        return value - histogram_mean(&r->lag) / 1e6;
    // A rate counts until its last token, which may have been sent late by as much as the largest
    // lag.
    if (metrics[id].unit == UNIT_PER_S && id != METRIC_RATE_OFFERED)
        return rate_less_lag(r, l, in, id, (double)histogram_percentile(&r->lag, 100) / 1e9);
    return metrics[id].unit == UNIT_COUNT ? NAN : value;
}

// Fills in the deaths before the drain's end, and what all processes used.
static void put_processes(struct result *r, const struct ledger *l)
{
    double deaths = 0, cpu_s = 0, rss = 0;

    for (size_t i = 0; i < l->log->process_count; i++) {
        const struct process_record *p = &l->log->processes[i];
        deaths += p->ended_ns < l->drain_end_ns;
        cpu_s += p->cpu_s;
        rss = (double)p->rss_max_kb > rss ? (double)p->rss_max_kb : rss;
    }
    r->values[METRIC_COLLECTOR_DEATHS] = deaths;
    r->values[METRIC_COLLECTOR_CPU_S] = cpu_s;
    r->values[METRIC_COLLECTOR_RSS_MAX_KB] = rss;
}

void check_figures(struct result *r, const struct ledger *l, const struct check_input *in)
{
    record_lags(r, l);
    for (uint32_t token = 0; token < l->plan->token_count; token++)
        stages_record_latencies(l, token, &r->from_intended, &r->from_commit);
    put_latencies(r, METRIC_LATENCY_P50, &r->from_intended);
    put_latencies(r, METRIC_COMMIT_LATENCY_P50, &r->from_commit);
    put_rates(r, l, in);
    put_processes(r, l);
    put_outcome_latencies(r, l);
    if (r->lag.total > 0)
        r->values[METRIC_GENERATOR_LAG_P99_MS] = (double)histogram_percentile(&r->lag, 99) / 1e6;
    if (in->reconnects != UINT64_MAX)
        r->values[METRIC_COLLECTOR_RECONNECTS] = (double)in->reconnects;
    r->values[METRIC_COLLECTOR_BATCHES] = 0;
    for (size_t i = 0; i < l->log->line_count; i++)
        r->values[METRIC_COLLECTOR_BATCHES] += l->log->lines[i].state == LINE_WHOLE;
}
