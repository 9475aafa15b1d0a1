// Checks that the harness itself did what the plan says. When the generator fell behind or a loop
// got no processor, the run is inconclusive, because then it says nothing about the collector.
// Every gate names its figure, and those that a busy machine may explain name the programs that
// used it. A scenario that sets its slack says how coarsely it judges time, so the limits of lag,
// stalls and late inserts are at least that slack; a worker's clock must be known to half of it.
#include "check/inside.h"

static const int64_t lag_limit_ns = 100 * NS_PER_MS; // limit of the p99 of the inserts' lag
static const double sent_least = 0.99; // least share of the inserts that must be sent in time
static const int64_t sent_margin_ns = NS_PER_S; // inserts up to this long after the load's end are
                                                // still in time
static const int64_t stall_limit_ns = NS_PER_S; // longest time for which a loop may stand still

// Returns the programs that used the machine, for a message.
static const char *machine_users(const struct check_input *in)
{
    return in->cpu_users && in->cpu_users[0] ? in->cpu_users : "the machine's load was not sampled";
}

// Returns the limit, or the slack that the scenario sets if that is longer.
static int64_t at_least_slack(int64_t limit_ns, const struct scenario *s)
{
    return s->slack_ns == SLACK_AUTO || s->slack_ns < limit_ns ? limit_ns : s->slack_ns;
}

// Returns the share of inserts that were sent before the end of the load, or within the margin
// after it. Leaves out those that a closed loop did not need, those of the backlog, which come
// before the load, and those that a fault excuses.
static double sent_in_time(const struct ledger *l)
{
    int64_t end_ns = l->start_ns + l->plan->load_ns + at_least_slack(sent_margin_ns, l->scenario);
    size_t planned = 0, sent = 0;

    for (size_t i = 0; i < l->plan->txn_count; i++) {
        const struct txn_record *txn = &l->txns[i];
        if (txn->outcome == TXN_NOT_NEEDED || (l->plan->txns[i].flags & TXN_BACKLOG) ||
            check_generator_excused(l, l->start_ns + l->plan->txns[i].at_ns))
            continue;
        planned++;
        sent += txn->sent_ns != 0 && txn->sent_ns <= end_ns;
    }
    return planned ? (double)sent / (double)planned : 1;
}

// Adds a reason if a loop of the harness stood still for longer than the limit.
static void check_stalls(struct result *r, const struct check_input *in, const char *whose,
    const struct stalls *s, int64_t limit_ns)
{
    if (s->longest_ns > limit_ns)
        result_reason(r, "the harness's %s stood still for %.0f ms (%s)", whose,
            (double)s->longest_ns / 1e6, machine_users(in));
}

static double lag_limit_ms(const struct scenario *s)
{
    return (double)at_least_slack(lag_limit_ns, s) / 1e6;
}

bool check_generator_lags(const struct result *r, const struct scenario *s)
{
    return r->values[METRIC_GENERATOR_LAG_P99_MS] > lag_limit_ms(s);
}

bool check_generator_lags_unforgiven(const struct result *r)
{
    return r->values[METRIC_GENERATOR_LAG_P99_MS] > (double)lag_limit_ns / 1e6;
}

void check_gates(struct result *r, const struct ledger *l, const struct check_input *in)
{
    double sent = sent_in_time(l);

    // A run that was ended early has not sent all of its plan, and another reason says so.
    if (check_ended_early(in))
        return;
    if (r->values[METRIC_GENERATOR_DROPPED] > 0)
        result_reason(r, "the generator could not send %.0f %s before the drain was over (%s)",
            r->values[METRIC_GENERATOR_DROPPED],
            NOUN(r->values[METRIC_GENERATOR_DROPPED], "token", "tokens"), machine_users(in));
    else if (sent < sent_least)
        result_reason(r, "the generator sent only %.1f%% of its inserts within the load (%s)",
            sent * 100, machine_users(in));
    if (in->load->lost_workers > 0)
        result_reason(r, "%u of the workers %s lost; %s", in->load->lost_workers,
            NOUN(in->load->lost_workers, "was", "were"), in->load->lost_worker);
    // The times of a worker's commits are compared with those of lines, which another clock took.
    if (in->load->clock_bound_ns > r->slack_ns / 2)
        result_reason(r,
            "a worker's clock is known to %.1f ms only, at most %.1f ms, half the slack",
            (double)in->load->clock_bound_ns / 1e6, (double)r->slack_ns / 2e6);
    if (check_generator_lags(r, l->scenario))
        result_reason(r, "the generator fell behind: lag p99 %.0f ms, at most %.0f ms (%s)",
            r->values[METRIC_GENERATOR_LAG_P99_MS], lag_limit_ms(l->scenario), machine_users(in));
    int64_t stall_ns = at_least_slack(stall_limit_ns, l->scenario);
    check_stalls(r, in, "generator", &in->load->stalls, stall_ns);
    if (in->reader_stalls)
        check_stalls(r, in, "reader", in->reader_stalls, stall_ns);
}
