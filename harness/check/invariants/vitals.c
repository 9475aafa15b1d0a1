// busy_idle: a collector does not rest when there is nothing to do.
//
// It is judged in a phase of rate 0, over at least 1 s without a fault. This time begins 2T + slack
// after the last event (T is the batch timeout), and not before the process is a second old. Where
// T is 2 s or more, it is also judged between one event of the load and the next, beginning slack
// after the first, because a batch that waits gives a collector nothing to do. The process and all
// its descendants count together. So do the backends of all sessions, with 5% of a processor for
// each collector. Where the harness cannot see the backends, they count as idle. There are two
// samples a second, and CPU time comes in ticks of 10 ms. Like leak, busy_idle is judged where
// `small` is promised and the scenario needs it, or where `expect` names it.
#include "check/inside.h"

static const double busy_share = 0.05;       // of a processor; an idle collector may use that much
static const double busy_wakeups_per_s = 10; // a health check every second causes fewer
static const int64_t idle_least_ns = NS_PER_S;
static const int64_t warm_up_ns = NS_PER_S; // a process that was just started is not judged for
                                            // this long

// Returns the time of the last event: a line was read before until_ns, or an insert that was sent
// before until_ns was answered, even if the answer came later.
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

// Returns by how much a counter grew; 0 if it fell.
static double growth_of(uint64_t before, uint64_t after)
{
    return after > before ? (double)(after - before) : 0;
}

// Adds a finding if a process with nothing to do between two times used too much processor time or
// woke up too often. Without samples that are far enough apart, it is not judged.
static void check_idle(
    struct result *r, const struct ledger *l, uint32_t process, int64_t from_ns, int64_t until_ns)
{
    const struct process_sample *first = NULL, *last = NULL;
    int64_t warm_ns = l->log->processes[process].started_ns + warm_up_ns;

    for (size_t i = 0; i < l->log->sample_count; i++) {
        const struct process_sample *s = &l->log->samples[i];
        // The work of a runtime that warms up does not count.
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
    double cpu = growth_of(first->cpu_ms, last->cpu_ms) / 1e3 / seconds;
    double wakeups = growth_of(first->wakeups, last->wakeups) / seconds;
    if (cpu > busy_share || wakeups > busy_wakeups_per_s)
        finding_add(r, METRIC_BUSY_IDLE,
            "pid %d, %.1f s from %.3f s on with nothing to do: %.0f%% of a processor, %.0f "
            "wake-ups per second",
            (int)l->log->processes[process].pid, seconds, ledger_seconds(l, first->at_ns),
            100 * cpu, wakeups);
}

// Judges the collector's backends together, because their CPU time counts like the collector's own.
// Where it cannot be seen it is 0, and convicts nobody.
static void check_backends(
    struct result *r, const struct ledger *l, int64_t from_ns, int64_t until_ns)
{
    const struct presence_look *first = NULL, *last = NULL;

    for (size_t i = 0; i < l->look_count; i++) {
        const struct presence_look *look = &l->looks[i];
        if (look->at_ns < from_ns || look->at_ns > until_ns)
            continue;
        first = first ? first : look;
        last = look;
    }
    if (!first || last->at_ns - first->at_ns < idle_least_ns)
        return;
    double seconds = (double)(last->at_ns - first->at_ns) / 1e9;
    double cpu = growth_of(first->cpu_ms, last->cpu_ms) / 1e3 / seconds;
    if (cpu > busy_share * l->scenario->collector.instances)
        finding_add(r, METRIC_BUSY_IDLE,
            "%.1f s from %.3f s on with nothing to do: the collector's sessions use %.0f%% of a "
            "processor",
            seconds, ledger_seconds(l, first->at_ns), 100 * cpu);
}

// Checks each process, and the backends of all collectors together, in a time in which nothing
// happens. When a fault, or the return from it, lasts into this time, the check begins later.
static void check_quiet(const struct check *c, int64_t from_ns, int64_t until_ns)
{
    const struct ledger *l = c->l;
    const struct timeline *t = &c->timeline;

    // Nearly all times between two events end here, which saves a search of the samples.
    if (until_ns - from_ns < idle_least_ns)
        return;
    for (uint32_t p = 0; p < l->log->process_count; p++) {
        int instance = l->log->processes[p].instance;
        check_idle(
            c->r, l, p, clock_max(from_ns, timeline_settled_ns(t, instance, until_ns)), until_ns);
    }
    check_backends(c->r, l, clock_max(from_ns, timeline_settled_ns(t, EVERY, until_ns)), until_ns);
}

// Checks the part of a phase without load in which nothing happens any more.
static void judge_idle_phase(const struct check *c, int64_t from_ns, int64_t until_ns)
{
    // In this time the last tokens go out. It is generous, because what comes late is judged
    // elsewhere.
    int64_t settle_ns = 2 * c->l->scenario->collector.batch_timeout_ns + c->r->slack_ns;
    int64_t last_ns = last_event_ns(c->l, until_ns);

    check_quiet(c, clock_max(last_ns, from_ns) + settle_ns, until_ns);
}

// --- busy_idle while a batch waits ----------------------------------------------------

// The shortest batch timeout for which waits are judged. A shorter one is over before there are
// enough samples.
static const int64_t wait_least_ns = 2 * NS_PER_S;

struct events {
    int64_t *at_ns; // owned
    size_t count;
};

// Adds a time; 0 and CLOCK_NEVER mean that the event did not happen.
static void add_event(struct events *t, int64_t at_ns)
{
    if (at_ns > 0 && at_ns != CLOCK_NEVER)
        t->at_ns[t->count++] = at_ns;
}

// Gathers the times of all that may give a collector something to do.
static void gather_events(struct events *t, const struct ledger *l)
{
    const struct subject_log *log = l->log;

    t->at_ns = memory_zeroed(
        2 * l->plan->txn_count + log->line_count + log->delivery_count, sizeof *t->at_ns);
    for (size_t i = 0; i < l->plan->txn_count; i++) {
        add_event(t, l->txns[i].sent_ns);
        add_event(t, l->txns[i].ended_ns);
    }
    for (size_t i = 0; i < log->line_count; i++)
        add_event(t, log->lines[i].read_ns);
    for (size_t i = 0; i < log->delivery_count; i++)
        add_event(t, log->deliveries[i].replied_ns);
    qsort(t->at_ns, t->count, sizeof *t->at_ns, clock_compare);
}

// Checks the time between one event of the load and the next, in which a collector has nothing to
// do but to wait for a batch to fill or for its timeout.
static void check_waits(const struct check *c)
{
    const struct ledger *l = c->l;
    struct events t = {0};

    if (l->scenario->collector.batch_timeout_ns < wait_least_ns)
        return;
    gather_events(&t, l);
    for (size_t i = 1; i < t.count && t.at_ns[i] <= l->load_end_ns; i++)
        check_quiet(c, t.at_ns[i - 1] + c->r->slack_ns, t.at_ns[i]);
    free(t.at_ns);
}

// Judges each phase of rate 0.
static void check_rest(const struct check *c)
{
    const struct ledger *l = c->l;
    int64_t at_ns = l->start_ns;

    for (size_t i = 0; i < l->scenario->load_count; i++) {
        const struct load_phase *phase = &l->scenario->load[i];
        if (phase->rate_from <= 0 && phase->rate_to <= 0)
            judge_idle_phase(c, at_ns, at_ns + phase->for_ns);
        at_ns += phase->for_ns;
    }
}

void check_vitals(const struct check *c)
{
    check_rest(c);
    check_waits(c);
}
