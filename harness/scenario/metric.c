#include "scenario/metric.h"

#include <math.h>

#include "scenario/promises.h"
#include "scenario/scenario.h"
#include "scenario/suggest.h"

#define FIGURE(id, name, unit, traits, help)                                                       \
    [METRIC_##id] = {METRIC_##id, name, unit, false, OVER_NOTHING, 0, FOR_ALL, traits, help}
#define COUNTER(id, name, help) FIGURE(id, name, UNIT_COUNT, 0, help)
// A count that a slow machine alone can change: lines (one per timeout), sessions that were given
// up, tokens that another collector took over or that changed before their turn.
#define TIMED_COUNTER(id, name, help) FIGURE(id, name, UNIT_COUNT, TRAIT_TIME, help)
// A busy machine distorts every time and rate, even processor time, because a process that shares a
// core runs slower.
#define MEASURE(id, name, unit, help)                                                              \
    FIGURE(id, name, unit, (unit) == UNIT_COUNT || (unit) == UNIT_KB ? 0 : TRAIT_TIME, help)
#define INVARIANT(id, name, over, promise, subjects, traits, help)                                 \
    [METRIC_##id] = {                                                                              \
        METRIC_##id, name, UNIT_COUNT, true, OVER_##over, promise, subjects, traits, help}

const struct metric metrics[METRIC_COUNT] = {
    COUNTER(ATTEMPTED, "attempted", "tokens whose insert was sent"),
    COUNTER(COMMITTED, "committed", "tokens whose COMMIT was acknowledged"),
    COUNTER(ROLLED_BACK, "rolled_back", "tokens rolled back or failed for certain"),
    COUNTER(UNKNOWN, "unknown", "tokens whose connection died before COMMIT was answered"),
    COUNTER(EXPECTED, "expected", "tokens that had to be delivered"),
    COUNTER(UNDELIVERABLE, "undeliverable", "tokens that the wire cannot carry"),
    COUNTER(DELIVERED, "delivered", "tokens found in a valid line"),
    INVARIANT(LOST, "lost", TOKENS, PROMISE_NO_LOSS, FOR_ALL, TRAIT_COLLECTOR,
        "expected and not delivered when the drain ended"),
    INVARIANT(PHANTOM, "phantom", TOKENS, 0, FOR_ALL, 0,
        "delivered though rolled back or never attempted"),
    INVARIANT(
        PREMATURE, "premature", TOKENS, 0, FOR_ALL, 0, "delivered before its COMMIT was sent"),
    INVARIANT(INELIGIBLE, "ineligible", TOKENS, 0, FOR_MAIL, 0,
        "delivered though expired, consumed, or of an account whose status does not fit"),
    INVARIANT(DUPLICATED, "duplicated", TOKENS, PROMISE_ONCE, FOR_ALL, 0,
        "repeated deliveries that nothing explains"),
    INVARIANT(
        VANISHED, "vanished", TOKENS, 0, FOR_ALL, 0, "acknowledged, but gone from the database"),
    INVARIANT(OVER_LIMIT, "over_limit", LINES, PROMISE_LIMIT, FOR_MAIL, 0,
        "lines that hold more than the batch limit"),
    INVARIANT(UNDERFULL, "underfull", LINES, PROMISE_FILLS, FOR_MAIL, TRAIT_TIME | TRAIT_RARE,
        "short lines that left tokens behind which could have gone with them"),
    INVARIANT(EARLY, "early", LINES, PROMISE_TIMEOUT, FOR_MAIL, TRAIT_TIME,
        "short lines sent before the batch timeout had passed"),
    INVARIANT(LATE, "late", TOKENS, PROMISE_TIMEOUT, FOR_MAIL, TRAIT_TIME,
        "tokens that waited longer than batch timeout and slack"),
    INVARIANT(OUT_OF_ORDER, "out_of_order", TOKENS, PROMISE_ORDER, FOR_ALL, 0,
        "tokens overtaken by one that was committed later"),
    INVARIANT(TORN, "torn", LINES, 0, FOR_ALL, 0, "lines that are incomplete or cannot be parsed"),
    INVARIANT(FORGED, "forged", TOKENS, 0, FOR_ALL, 0,
        "tokens with a bad signature or another token's fields"),
    COUNTER(RECOVERED, "recovered", "unknown tokens that were delivered"),
    COUNTER(REDELIVERED, "redelivered",
        "repeated deliveries, after the server itself lost the cursor's move"),
    COUNTER(LEFT_BEHIND, "left_behind",
        "vanished tokens that a failover left on the old leader's timeline"),
    TIMED_COUNTER(REPEATED, "repeated",
        "repeated deliveries of the last line of a process that died or lost its turn"),
    TIMED_COUNTER(LATE_LINES, "late_lines",
        "lines of a collector that returned, with tokens that another had taken over"),
    TIMED_COUNTER(EXPIRED_UNSENT, "expired_unsent", "tokens that expired during an outage"),
    TIMED_COUNTER(PASSED, "passed", "tokens that were not eligible at their turn"),
    COUNTER(CONFLICTED, "conflicted", "upserts whose account existed already"),
    INVARIANT(UNPLANNED_EXIT, "unplanned_exit", PROCESSES, 0, FOR_ALL, 0,
        "exits of the collector that were not planned"),
    INVARIANT(UNRECOVERED, "unrecovered", FAULTS, PROMISE_RECONNECT, FOR_ALL,
        TRAIT_TIME | TRAIT_COLLECTOR, "faults after which no fresh token came out in time"),
    INVARIANT(FALLS_BEHIND, "falls_behind", SECONDS, PROMISE_TIMEOUT, FOR_MAIL,
        TRAIT_TIME | TRAIT_RARE,
        "backlogs that grow, or that a fault left, though the rate is within the capacity"),
    INVARIANT(IDLE_INSTANCE, "idle_instance", SECONDS, PROMISE_SHARING, FOR_ALL,
        TRAIT_TIME | TRAIT_RARE,
        "times in which an instance that shares the work wrote nothing while there was a backlog"),
    INVARIANT(BUSY_IDLE, "busy_idle", SECONDS, PROMISE_SMALL, FOR_ALL, 0,
        "idle phases in which the collector did not rest"),
    INVARIANT(LEAK, "leak", SECONDS, PROMISE_SMALL, FOR_ALL, 0,
        "processes whose memory, descriptors, children or sessions grew over the run"),
    INVARIANT(END_STATE, "end_state", TOKENS, 0, FOR_REFERENCE, TRAIT_COLLECTOR,
        "places where the collector's tables contradict the ledger"),
    INVARIANT(MEDDLES, "meddles", TOKENS, 0, FOR_MAIL, TRAIT_RARE,
        "tokens with a column that the collector has changed, though it is not its own"),
    INVARIANT(LITTERS, "litters", PROCESSES, 0, FOR_ALL, TRAIT_RARE,
        "exits at TERM that left a process running"),
    INVARIANT(TELLS_SECRETS, "tells_secrets", TOKENS, 0, FOR_MAIL, TRAIT_RARE,
        "secrets in the collector's log, the key among them"),
    INVARIANT(HOLDS, "holds", SECONDS, PROMISE_RELEASES, FOR_ALL, TRAIT_RARE,
        "transactions that the collector kept open for a second or longer"),
    INVARIANT(DOUBLE_LEASED, "double_leased", TOKENS, 0, FOR_MAIL, TRAIT_RARE,
        "attempts that began while another one's lease was living"),
    INVARIANT(RESURRECTED, "resurrected", TOKENS, 0, FOR_MAIL, TRAIT_RARE,
        "attempts after a token was sent or had failed for good"),
    INVARIANT(EARLY_RETRY, "early_retry", TOKENS, 0, FOR_MAIL, TRAIT_RARE,
        "retries that came sooner than full jitter allows"),
    INVARIANT(NEVER_RETRIED, "never_retried", TOKENS, 0, FOR_MAIL, TRAIT_RARE,
        "tokens that failed and were never tried again"),
    INVARIANT(OVER_ATTEMPTS, "over_attempts", TOKENS, 0, FOR_MAIL, TRAIT_RARE,
        "tokens tried more often than is allowed"),
    INVARIANT(OVER_BUDGET, "over_budget", TOKENS, 0, FOR_MAIL, TRAIT_TIME | TRAIT_RARE,
        "times at which more went out than the budget allows"),
    INVARIANT(MISRECORDED, "misrecorded", TOKENS, 0, FOR_MAIL, TRAIT_RARE,
        "tokens whose recorded end is not what the sender answered"),
    INVARIANT(STARVED, "starved", TOKENS, 0, FOR_MAIL, TRAIT_TIME,
        "tokens that a lane kept waiting beyond its share"),
    COUNTER(PENDING, "pending",
        "tokens without an outcome when the drain ended, with an attempt still to come"),
    MEASURE(OUTCOME_LATENCY_P50, "latency.to_outcome.p50", UNIT_MS,
        "intended insert to the answer that ended the token, median"),
    MEASURE(OUTCOME_LATENCY_P99, "latency.to_outcome.p99", UNIT_MS,
        "intended insert to the answer that ended the token, 99th percentile"),
    MEASURE(OUTCOME_LATENCY_MAX, "latency.to_outcome.max", UNIT_MS,
        "intended insert to the answer that ended the token, the longest"),
    MEASURE(LATENCY_P50, "latency.p50", UNIT_MS, "intended insert to line read, median"),
    MEASURE(LATENCY_P90, "latency.p90", UNIT_MS, "intended insert to line read, 90th percentile"),
    MEASURE(LATENCY_P99, "latency.p99", UNIT_MS, "intended insert to line read, 99th percentile"),
    MEASURE(
        LATENCY_P999, "latency.p999", UNIT_MS, "intended insert to line read, 99.9th percentile"),
    MEASURE(LATENCY_MAX, "latency.max", UNIT_MS, "intended insert to line read, the longest"),
    MEASURE(LATENCY_MEAN, "latency.mean", UNIT_MS, "intended insert to line read, on average"),
    MEASURE(COMMIT_LATENCY_P50, "latency.from_commit.p50", UNIT_MS,
        "acknowledged commit to line read, median"),
    MEASURE(COMMIT_LATENCY_P90, "latency.from_commit.p90", UNIT_MS,
        "acknowledged commit to line read, 90th percentile"),
    MEASURE(COMMIT_LATENCY_P99, "latency.from_commit.p99", UNIT_MS,
        "acknowledged commit to line read, 99th percentile"),
    MEASURE(COMMIT_LATENCY_P999, "latency.from_commit.p999", UNIT_MS,
        "acknowledged commit to line read, 99.9th percentile"),
    MEASURE(COMMIT_LATENCY_MAX, "latency.from_commit.max", UNIT_MS,
        "acknowledged commit to line read, the longest"),
    MEASURE(COMMIT_LATENCY_MEAN, "latency.from_commit.mean", UNIT_MS,
        "acknowledged commit to line read, on average"),
    MEASURE(RATE_OFFERED, "rate.offered", UNIT_PER_S, "tokens that the plan asks for"),
    MEASURE(RATE_ACHIEVED, "rate.achieved", UNIT_PER_S, "tokens committed"),
    MEASURE(RATE_DELIVERED, "rate.delivered", UNIT_PER_S, "tokens delivered"),
    MEASURE(RECOVERY_MAX, "recovery.max", UNIT_MS,
        "longest time from a fault's end until fresh tokens came out"),
    MEASURE(
        COLLECTOR_DEATHS, "collector.deaths", UNIT_COUNT, "processes that ended, planned or not"),
    TIMED_COUNTER(COLLECTOR_RECONNECTS, "collector.reconnects",
        "new sessions of the collector after its first"),
    TIMED_COUNTER(COLLECTOR_BATCHES, "collector.batches", "lines written"),
    MEASURE(COLLECTOR_RSS_MAX_KB, "collector.rss_max_kb", UNIT_KB, "largest resident memory"),
    MEASURE(COLLECTOR_CPU_S, "collector.cpu_s", UNIT_S, "processor time of all processes"),
    MEASURE(GENERATOR_LAG_P99_MS, "generator.lag_p99_ms", UNIT_MS,
        "how far the harness's own inserts lagged behind the plan, 99th percentile"),
    MEASURE(
        GENERATOR_DROPPED, "generator.dropped", UNIT_COUNT, "planned inserts that were never sent"),
};

const struct metric *metric_find(const char *name)
{
    for (size_t i = 0; i < METRIC_COUNT; i++)
        if (strcmp(metrics[i].name, name) == 0)
            return &metrics[i];
    return NULL;
}

const struct metric *metric_named(const char *name, bool only_invariants, struct err *e)
{
    const struct metric *metric = metric_find(name);
    struct suggestion near;

    if (metric && (metric->invariant || !only_invariants))
        return metric;
    suggest_init(&near, name);
    for (size_t i = 0; i < METRIC_COUNT; i++)
        if (metrics[i].invariant || !only_invariants)
            suggest_offer(&near, metrics[i].name);
    err_set(e, ERR_USAGE, "'%.100s' is not %s%s", name,
        only_invariants ? "an invariant" : "a metric",
        *near.text ? near.text : "; `mailproof list` shows them");
    return NULL;
}

bool metric_is_for(enum metric_id id, const struct scenario *s)
{
    unsigned kind = scenario_is_queue(s)                      ? FOR_QUEUE
                    : s->collector.layout == LAYOUT_REFERENCE ? FOR_REFERENCE
                                                              : FOR_FOREIGN;

    return metrics[id].subjects & kind;
}

const char *metric_subjects(enum metric_id id)
{
    switch (metrics[id].subjects) {
    case FOR_ALL:
        return "";
    case FOR_MAIL:
        return "collectors of mail lines";
    default:
        return "collectors with the reference tables";
    }
}

const char *metric_over_name(enum metric_over over)
{
    static const char *const names[] = {"", "tokens", "lines", "seconds", "faults", "processes"};

    return names[over];
}

const char *metric_unit_name(enum metric_unit unit)
{
    static const char *const names[] = {[UNIT_COUNT] = "",
        [UNIT_KB] = "kB",
        [UNIT_MS] = "ms",
        [UNIT_S] = "s",
        [UNIT_PER_S] = "1/s"};

    return names[unit];
}

const char *metric_text(enum metric_id id, double value, char *out, size_t size)
{
    const char *unit = metric_unit_name(metrics[id].unit);

    if (isnan(value))
        snprintf(out, size, "not measured");
    else
        snprintf(out, size, "%.6g%s%s", value, *unit ? " " : "", unit);
    return out;
}
