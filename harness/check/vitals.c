// Invariants of the collector's own life: it rests when there is nothing to do, and its memory does
// not grow.
#include "check/inside.h"

#include "base/clock.h"

static const double busy_share = 0.05;       // share of one processor that an idle collector may
                                             // use
static const double busy_wakeups_per_s = 10; // wakeups that an idle collector may cause; a health
                                             // check every second causes fewer
static const int64_t idle_least_ns = NS_PER_S;
static const int64_t warm_up_ns = NS_PER_S; // a process that was just started is not judged for
                                            // this long
static const uint32_t leak_least_kb = 256;
static const size_t leak_samples_least = 6;

// --- busy_idle ------------------------------------------------------------------

// Returns the time of the last event before `until_ns`: an answer or a line.
static int64_t last_event_ns(const struct ledger *l, int64_t until_ns)
{
    int64_t last = 0;

    for (size_t i = 0; i < l->plan->txn_count; i++) {
        const struct txn_record *txn = &l->txns[i];
        if (txn->sent_ns && txn->sent_ns < until_ns && txn->ended_ns > last)
            last = txn->ended_ns;
    }
    for (size_t i = 0; i < l->log->line_count; i++) {
        int64_t read_ns = l->log->lines[i].read_ns;
        if (read_ns < until_ns && read_ns > last)
            last = read_ns;
    }
    return last;
}

static double since(uint64_t before, uint64_t after)
{
    return after > before ? (double)(after - before) : 0;
}

static void check_idle(
    struct result *r, const struct ledger *l, uint32_t process, int64_t from_ns, int64_t until_ns)
{
    const struct process_sample *first = NULL, *last = NULL;

    int64_t warm_ns = l->log->processes[process].started_ns + warm_up_ns;

    for (size_t i = 0; i < l->log->sample_count; i++) {
        const struct process_sample *s = &l->log->samples[i];
        if (s->process != process || s->at_ns < from_ns || s->at_ns < warm_ns ||
            s->at_ns > until_ns)
            continue;
        first = first ? first : s;
        last = s;
    }
    if (!first || last->at_ns - first->at_ns < idle_least_ns)
        return;
    double seconds = (double)(last->at_ns - first->at_ns) / 1e9;
    judged_add(r, METRIC_BUSY_IDLE, seconds, CAUSE_IS_NONE);
    // A sample adds up several processes. When one of them ends, its part disappears, and the sum
    // may fall.
    double cpu = since(first->cpu_ms, last->cpu_ms) / 1e3 / seconds;
    double wakeups = since(first->wakeups, last->wakeups) / seconds;
    if (cpu > busy_share || wakeups > busy_wakeups_per_s)
        finding_add(r, METRIC_BUSY_IDLE,
            "pid %d, %.1f s from %.3f s on with nothing to do: %.0f%% of a processor, %.0f "
            "wake-ups per second",
            (int)l->log->processes[process].pid, seconds, ledger_seconds(l, first->at_ns),
            100 * cpu, wakeups);
}

// Returns the end of the last fault window that began before `until_ns`.
static int64_t last_window_ns(const struct ledger *l, int64_t until_ns)
{
    int64_t last = 0;

    for (size_t i = 0; i < l->fault_count; i++) {
        const struct fault_record *f = &l->faults[i];
        int64_t end_ns = f->ended_ns + l->scenario->recovery_limit_ns;
        if (f->began_ns && f->began_ns < until_ns && end_ns > last)
            last = end_ns;
    }
    return last;
}

// Checks the part of a phase without load in which nothing happens any more and no fault lasts.
static void check_phase(struct result *r, const struct ledger *l, int64_t from_ns, int64_t until_ns)
{
    int64_t settle_ns = 2 * l->scenario->collector.batch_timeout_ns + r->slack_ns;
    int64_t last_ns = last_event_ns(l, until_ns);

    from_ns = (last_ns > from_ns ? last_ns : from_ns) + settle_ns;
    last_ns = last_window_ns(l, until_ns);
    from_ns = last_ns > from_ns ? last_ns : from_ns;
    if (until_ns - from_ns < idle_least_ns)
        return;
    for (uint32_t p = 0; p < l->log->process_count; p++)
        check_idle(r, l, p, from_ns, until_ns);
}

static bool is_idle(const struct load_phase *phase)
{
    return phase->rate_from <= 0 && phase->rate_to <= 0;
}

static void check_rest(struct result *r, const struct ledger *l)
{
    int64_t at_ns = l->start_ns;

    for (size_t i = 0; i < l->scenario->load_count; i++) {
        const struct load_phase *phase = &l->scenario->load[i];
        if (is_idle(phase))
            check_phase(r, l, at_ns, at_ns + phase->for_ns);
        at_ns += phase->for_ns;
    }
}

// --- leak -----------------------------------------------------------------------

// A buffer that grows to its final size does so in one step. A leak grows in both halves of the
// time.
static void check_memory(struct result *r, const struct ledger *l, uint32_t process)
{
    const struct process_record *p = &l->log->processes[process];
    int64_t born_ns = p->started_ns > l->start_ns ? p->started_ns : l->start_ns;
    int64_t end_ns = clock_min(p->ended_ns, l->load_end_ns);
    int64_t from_ns = born_ns + (end_ns - born_ns) / 4;
    int64_t middle_ns = from_ns + (end_ns - from_ns) / 2;
    uint32_t first = 0, middle = 0, last = 0;
    size_t count = 0;

    for (size_t i = 0; i < l->log->sample_count; i++) {
        const struct process_sample *s = &l->log->samples[i];
        if (s->process != process || s->at_ns < from_ns || s->at_ns > end_ns)
            continue;
        first = count++ ? first : s->rss_kb;
        middle = s->at_ns <= middle_ns ? s->rss_kb : middle;
        last = s->rss_kb;
    }
    if (count < leak_samples_least)
        return;
    judged_add(r, METRIC_LEAK, (double)(end_ns - from_ns) / 1e9, CAUSE_IS_NONE);
    if (last < first + leak_least_kb || middle < first || last < middle)
        return;
    uint32_t growth = last - first;
    if (middle - first >= growth / 4 && last - middle >= growth / 4)
        finding_add(r, METRIC_LEAK, "pid %d: from %u kB at %.3f s to %u kB at %.3f s, %u lines",
            (int)p->pid, first, ledger_seconds(l, from_ns), last, ledger_seconds(l, end_ns),
            p->lines);
}

bool check_vitals(const struct check *c, struct err *e)
{
    (void)e;
    check_rest(c->r, c->l);
    for (uint32_t p = 0; p < c->l->log->process_count; p++)
        check_memory(c->r, c->l, p);
    return true;
}
