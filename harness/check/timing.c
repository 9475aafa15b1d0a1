// Invariants of time: short lines that came too early, tokens that came too late.
#include "check/inside.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "plan/names.h"

static const int64_t slack_base_ns = 50 * NS_PER_MS;
static const int64_t slack_most_ns = 500 * NS_PER_MS;
static const int64_t early_slack_ns = 2 * NS_PER_MS;

// When something was open: a transaction, or an announcement on its way.
struct span {
    int64_t from_ns;
    int64_t until_ns; // after index_spans: the latest end of this and all before it
};

struct timing {
    struct result *r;
    const struct ledger *l;
    const struct stalls *reader; // of the loop that stamps the lines; NULL: unknown
    struct span *txns;           // all that were sent, by their first statement
    struct span *announced;      // those that committed, by the COMMIT
    size_t txn_count, announced_count;
    int64_t *busy_since;   // per line: since when full lines have followed each other
    uint32_t *short_since; // per line: the same process's last line that left nothing behind
};

// --- slack --------------------------------------------------------------------

static int compare_times(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

    return (x > y) - (x < y);
}

// 50 ms + 5 × the p99 of the probe query outside of fault windows, at most 500 ms.
static int64_t measured_slack_ns(const struct ledger *l)
{
    int64_t *took = calloc(l->probe_count + 1, sizeof *took);
    int64_t slack_ns = slack_most_ns;
    size_t count = 0;

    for (size_t i = 0; took && i < l->probe_count; i++) {
        const struct probe_sample *p = &l->probes[i];
        if (p->took_ns != CLOCK_NEVER && check_undisturbed(l, p->due_ns, p->due_ns + p->took_ns))
            took[count++] = p->took_ns;
    }
    if (count > 0) {
        qsort(took, count, sizeof *took, compare_times);
        slack_ns = clock_min(slack_base_ns + 5 * took[(count * 99 - 1) / 100], slack_most_ns);
    }
    free(took);
    return slack_ns;
}

int64_t check_slack_ns(const struct ledger *l)
{
    return l->scenario->slack_ns == SLACK_AUTO ? measured_slack_ns(l) : l->scenario->slack_ns;
}

// --- what is looked up again and again ------------------------------------------

static int compare_spans(const void *a, const void *b)
{
    return compare_times(&((const struct span *)a)->from_ns, &((const struct span *)b)->from_ns);
}

static void index_spans(struct span *spans, size_t count)
{
    qsort(spans, count, sizeof *spans, compare_spans);
    for (size_t i = 1; i < count; i++) {
        if (spans[i].until_ns < spans[i - 1].until_ns)
            spans[i].until_ns = spans[i - 1].until_ns;
    }
}

// The latest end of all spans that began at `at_ns` or before; 0 without one.
static int64_t latest_end(const struct span *spans, size_t count, int64_t at_ns)
{
    size_t low = 0, high = count;

    while (low < high) {
        size_t mid = low + (high - low) / 2;
        if (spans[mid].from_ns <= at_ns)
            low = mid + 1;
        else
            high = mid;
    }
    return low ? spans[low - 1].until_ns : 0;
}

static void index_txns(struct timing *t)
{
    for (size_t i = 0; i < t->l->plan->txn_count; i++) {
        const struct txn_record *txn = &t->l->txns[i];
        if (txn->sent_ns)
            t->txns[t->txn_count++] = (struct span){txn->sent_ns, txn->ended_ns};
        if (txn->commit_ns && (txn->outcome == TXN_COMMITTED || txn->outcome == TXN_UNKNOWN))
            t->announced[t->announced_count++] = (struct span){txn->commit_ns, txn->ended_ns};
    }
    index_spans(t->txns, t->txn_count);
    index_spans(t->announced, t->announced_count);
}

// After such a line there may be more to send. What was torn may have been full.
static bool is_full(const struct ledger *l, const struct line_record *line)
{
    return line->state != LINE_WHOLE ||
           line->tokens >= (uint32_t)l->scenario->collector.batch_limit;
}

#define NO_LINE UINT32_MAX

// How far apart full lines may be of a collector that does what it can.
static int64_t chain_ns(const struct timing *t)
{
    const struct scenario_collector *c = &t->l->scenario->collector;
    int64_t line_ns = c->capacity > 0 ? (int64_t)((double)c->batch_limit / c->capacity * 1e9) : 0;

    return line_ns > t->r->slack_ns ? line_ns : t->r->slack_ns;
}

static void index_lines(struct timing *t, uint32_t *emptied, uint32_t *last)
{
    const struct subject_log *log = t->l->log;
    int64_t apart_ns = chain_ns(t);

    for (size_t p = 0; p < log->process_count; p++)
        emptied[p] = last[p] = NO_LINE;
    for (uint32_t i = 0; i < log->line_count; i++) {
        const struct line_record *line = &log->lines[i];
        const struct line_record *before = i ? &log->lines[i - 1] : NULL;
        bool follows =
            before && is_full(t->l, before) && line->read_ns - before->read_ns <= apart_ns;
        t->busy_since[i] = follows ? t->busy_since[i - 1] : line->read_ns;
        t->short_since[i] = emptied[line->process];
        last[line->process] = i;
        if (!is_full(t->l, line))
            emptied[line->process] = i;
    }
}

// --- early --------------------------------------------------------------------

bool check_shares(const struct scenario *s)
{
    for (size_t i = 0; i < s->collector.env.count; i++) {
        const struct setting *v = &s->collector.env.items[i];
        if (strcmp(v->name, "MAILROOM_DEQUEUE") == 0)
            return strcmp(v->value, "cursor") != 0;
    }
    return false;
}

// Whether a line is there to be judged: with a token that comes for the first
// time. What is written again is duplicated, what nobody planned a phantom, and a
// forged one may be half of a line.
static bool has_news(const struct ledger *l, uint32_t index)
{
    const struct line_record *line = &l->log->lines[index];
    bool news = false;

    for (uint32_t i = 0; i < line->tokens; i++) {
        const struct delivery *d = &l->log->deliveries[line->first_delivery + i];
        if (d->flags & DELIVERY_FORGED)
            return false;
        news = news || (d->token < l->plan->token_count && d->flags == 0 &&
                           l->tokens[d->token].first_line == index);
    }
    return news;
}

static bool holds_token_announced_before(
    const struct ledger *l, const struct line_record *line, int64_t until_ns)
{
    for (uint32_t i = 0; i < line->tokens; i++) {
        uint32_t token = l->log->deliveries[line->first_delivery + i].token;
        if (token < l->plan->token_count && ledger_txn(l, token)->commit_ns <= until_ns)
            return true;
    }
    return false;
}

// An announcement may have been on its way when the line before was written:
// it counts from its COMMIT to its acknowledgement and a little longer.
static bool announcement_between(const struct timing *t, int64_t from_ns, int64_t until_ns)
{
    int64_t travel_ns = clock_min(t->r->slack_ns, t->l->scenario->collector.batch_timeout_ns / 4);

    return latest_end(t->announced, t->announced_count, until_ns) + travel_ns >= from_ns;
}

static void check_early(struct timing *t, uint32_t index)
{
    const struct ledger *l = t->l;
    const struct line_record *line = &l->log->lines[index];
    int64_t timeout_ns = l->scenario->collector.batch_timeout_ns;
    int64_t latest_ns = line->read_ns - timeout_ns + early_slack_ns;

    // Without an earlier short line it may be what waited at the start.
    if (is_full(l, line) || !has_news(l, index) || t->short_since[index] == NO_LINE)
        return;
    int64_t emptied_ns = l->log->lines[t->short_since[index]].read_ns;
    bool in_time = holds_token_announced_before(l, line, latest_ns) ||
                   announcement_between(t, emptied_ns, latest_ns);
    struct cause cause =
        in_time ? CAUSE_IS_NONE : check_disturbed(l, line->read_ns - timeout_ns, line->read_ns);
    judged_add(t->r, METRIC_EARLY, 1, cause);
    if (in_time || cause.kind != CAUSE_NONE)
        return;
    finding_add(t->r, METRIC_EARLY,
        "pid %d, read at %.3f s: %u tokens, limit %d, all announced within the last %.0f ms",
        (int)l->log->processes[line->process].pid, ledger_seconds(l, line->read_ns), line->tokens,
        l->scenario->collector.batch_limit, (double)timeout_ns / 1e6);
    finding_add_faults(t->r, METRIC_EARLY, l, line->read_ns);
}

// --- late ---------------------------------------------------------------------

bool check_harness_stalled(const struct result *r, const struct ledger *l,
    const struct stalls *reader, int64_t from_ns, int64_t until_ns)
{
    for (size_t i = 0; i < l->probe_count; i++) {
        const struct probe_sample *p = &l->probes[i];
        if (p->stall_ns > r->slack_ns / 2 && p->due_ns < until_ns &&
            p->due_ns + p->stall_ns > from_ns)
            return true;
    }
    for (size_t i = 0; reader && i < reader->kept_count; i++) {
        const struct stall *s = &reader->kept[i];
        if (s->until_ns - s->from_ns > r->slack_ns / 2 && s->from_ns < until_ns &&
            s->until_ns > from_ns)
            return true;
    }
    return false;
}

// The samples come in the order of time: the first one after `at_ns`.
static size_t sample_after(const struct subject_log *log, int64_t at_ns)
{
    size_t low = 0, high = log->sample_count;

    while (low < high) {
        size_t mid = low + (high - low) / 2;
        if (log->samples[mid].at_ns <= at_ns)
            low = mid + 1;
        else
            high = mid;
    }
    return low;
}

// How long the process at most waited for a processor between two times, as the
// samples around them say: none before the first one of its life.
static int64_t starved_ns(
    const struct ledger *l, uint32_t process, int64_t from_ns, int64_t until_ns)
{
    const struct subject_log *log = l->log;
    uint64_t before_us = 0, after_us = 0;
    size_t first = sample_after(log, from_ns), i = first;

    while (i > 0 && log->samples[i - 1].process != process)
        i--;
    if (i > 0)
        before_us = after_us = log->samples[i - 1].starved_us;
    for (i = first; i < log->sample_count; i++) {
        if (log->samples[i].process != process)
            continue;
        after_us = log->samples[i].starved_us;
        if (log->samples[i].at_ns >= until_ns)
            break;
    }
    return after_us > before_us ? (int64_t)(after_us - before_us) * NS_PER_US : 0;
}

// Whether a token that was due may have come as late as it did because nobody
// gave its collector a processor, and would else have been in time.
static bool starvation_explains(
    const struct timing *t, uint32_t token, int64_t start_ns, int64_t due_ns)
{
    const struct subject_log *log = t->l->log;
    const struct line_record *line = &log->lines[t->l->tokens[token].first_line];
    int64_t waited_ns = starved_ns(t->l, line->process, start_ns, line->read_ns);

    return waited_ns > t->r->slack_ns / 2 && line->read_ns <= due_ns + waited_ns;
}

// When a token's clock starts: at its acknowledgement or, where the subject waits
// for writers, at the end of every transaction that began before and was open.
static int64_t starts_ns(const struct timing *t, const struct txn_record *txn)
{
    bool waits = t->l->scenario->collector.promises & PROMISE_WAITS_FOR_WRITERS;

    return waits ? latest_end(t->txns, t->txn_count, txn->ended_ns) : txn->ended_ns;
}

// What may explain a late token beside the collector makes it no finding.
static struct cause why_late(
    const struct timing *t, uint32_t token, int64_t start_ns, int64_t due_ns)
{
    const struct subject_log *log = t->l->log;
    uint32_t line = t->l->tokens[token].first_line;
    int64_t read_ns = log->lines[line].read_ns;
    struct cause fault = check_disturbed(t->l, start_ns, read_ns);

    if (fault.kind != CAUSE_NONE)
        return fault;
    if (check_harness_stalled(t->r, t->l, t->reader, start_ns, read_ns))
        return (struct cause){CAUSE_STALL, 0};
    if (starvation_explains(t, token, start_ns, due_ns))
        return (struct cause){CAUSE_STARVED, log->lines[line].process};
    return CAUSE_IS_NONE;
}

static void check_late(struct timing *t, uint32_t token)
{
    const struct ledger *l = t->l;
    const struct txn_record *txn = ledger_txn(l, token);
    int64_t read_ns = ledger_read_ns(l, token);
    int64_t waits_ns = l->scenario->collector.batch_timeout_ns + t->r->slack_ns;
    char email[NAMES_MAX];

    if (txn->outcome != TXN_COMMITTED || read_ns == CLOCK_NEVER)
        return;
    int64_t start_ns = starts_ns(t, txn);
    int64_t due_ns = start_ns + waits_ns;
    bool in_time = read_ns <= due_ns || t->busy_since[l->tokens[token].first_line] <= due_ns;
    struct cause cause = in_time ? CAUSE_IS_NONE : why_late(t, token, start_ns, due_ns);
    judged_add(t->r, METRIC_LATE, 1, cause);
    if (in_time || cause.kind != CAUSE_NONE)
        return;
    names_email(email, token);
    finding_add(t->r, METRIC_LATE,
        "%s: acknowledged at %.3f s, free to go at %.3f s, read at %.3f s: %.0f ms beyond timeout "
        "and slack",
        email, ledger_seconds(l, txn->ended_ns), ledger_seconds(l, start_ns),
        ledger_seconds(l, read_ns), (double)(read_ns - due_ns) / 1e6);
    finding_add_faults(t->r, METRIC_LATE, l, txn->ended_ns);
}

static void check_all(struct timing *t)
{
    if (t->l->scenario->collector.instances == 1 || !check_shares(t->l->scenario)) {
        for (uint32_t i = 0; i < t->l->log->line_count; i++)
            check_early(t, i);
    }
    for (uint32_t token = 0; token < t->l->plan->token_count; token++)
        check_late(t, token);
}

bool check_timing(
    struct result *r, const struct ledger *l, const struct stalls *reader, struct err *e)
{
    struct timing t = {.r = r, .l = l, .reader = reader};
    size_t lines = l->log->line_count + 1, processes = l->log->process_count + 1;
    uint32_t *per_process = calloc(2 * processes, sizeof *per_process);

    t.txns = calloc(l->plan->txn_count + 1, sizeof *t.txns);
    t.announced = calloc(l->plan->txn_count + 1, sizeof *t.announced);
    t.busy_since = calloc(lines, sizeof *t.busy_since);
    t.short_since = calloc(lines, sizeof *t.short_since);
    bool ok = per_process && t.txns && t.announced && t.busy_since && t.short_since;
    if (ok) {
        index_txns(&t);
        index_lines(&t, per_process, per_process + processes);
        check_all(&t);
    }
    free(per_process);
    free(t.txns);
    free(t.announced);
    free(t.busy_since);
    free(t.short_since);
    return ok || err_set(e, ERR_INTERNAL, "out of memory for the checks of time");
}
