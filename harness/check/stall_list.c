#include "check/stall_list.h"

#include "check/inside.h"

static const int64_t slack_base_ns = 50 * NS_PER_MS;
static const int64_t slack_most_ns = 500 * NS_PER_MS;
static const int64_t probe_every_ns = 100 * NS_PER_MS;

// --- slack ------------------------------------------------------------------------

// True when a strike or a slow fault lasts in a stretch of time. Then the fault may explain a slow
// answer.
static bool is_fault_at_work(const struct timeline *t, int64_t from_ns, int64_t until_ns)
{
    return timeline_strike(t, NULL, EVERY, from_ns, until_ns) ||
           timeline_allowance(t, from_ns, until_ns).ns > 0;
}

// Sorts the times, of which there is at least one, and returns their p99.
static int64_t sort_p99_ns(int64_t *times_ns, size_t count)
{
    qsort(times_ns, count, sizeof *times_ns, clock_compare);
    return times_ns[(count * 99 - 1) / 100];
}

int64_t check_slack_ns(const struct ledger *l, const struct timeline *t)
{
    int64_t *took FREED_BY(memory_free) = memory_zeroed(l->probe_count, sizeof *took);
    int64_t slack_ns = slack_most_ns;
    size_t count = 0;

    if (l->scenario->slack_ns != SLACK_AUTO)
        return l->scenario->slack_ns;
    for (size_t i = 0; i < l->probe_count; i++) {
        const struct probe_sample *p = &l->probes[i];
        int64_t asked_ns = p->due_ns + p->stall_ns;
        if (p->took_ns != CLOCK_NEVER && !is_fault_at_work(t, asked_ns, asked_ns + p->took_ns))
            took[count++] = p->took_ns;
    }
    if (count > 0)
        slack_ns = clock_min(slack_base_ns + 5 * sort_p99_ns(took, count), slack_most_ns);
    return slack_ns;
}

int64_t check_flush_ns(const struct ledger *l)
{
    int64_t *took FREED_BY(memory_free) = memory_zeroed(l->flush_count, sizeof *took);
    int64_t p99_ns = 50 * NS_PER_MS;
    size_t count = 0;

    for (size_t i = 0; i < l->flush_count; i++) {
        if (l->flushes[i].took_ns != CLOCK_NEVER)
            took[count++] = l->flushes[i].took_ns;
    }
    if (count > 0)
        p99_ns = sort_p99_ns(took, count);
    return p99_ns;
}

// --- stalls -----------------------------------------------------------------------

// Adds a stall, if it is longer than least_ns.
static void add_stall(struct stall_list *s, int64_t from_ns, int64_t length_ns, int64_t least_ns)
{
    if (length_ns <= least_ns)
        return;
    memory_grow(&s->items, s->count, 1, sizeof *s->items);
    s->items[s->count++] = (struct stall){from_ns, from_ns + length_ns};
}

// Adds the parts of a stretch of time that lie outside of all strikes, each as a stall. The
// timeline excuses the other parts already.
static void add_between(struct stall_list *s, int64_t from_ns, int64_t until_ns,
    const struct timeline *t, int64_t least_ns)
{
    const struct strike *k = NULL;

    while ((k = timeline_strike(t, k, EVERY, from_ns, until_ns))) {
        add_stall(s, from_ns, k->struck_ns - from_ns, least_ns);
        from_ns = k->undone_ns;
    }
    add_stall(s, from_ns, until_ns - from_ns, least_ns);
}

// Adds the time by which a sample of the probe began late. A sample without an answer waited for a
// connection.
static void add_late(struct stall_list *s, const struct probe_sample *p, const struct ledger *l,
    const struct timeline *t, int64_t least_ns)
{
    if (p->stall_ns <= least_ns)
        return;
    // A fault may be why there was no connection, and its time is on the timeline already.
    if (p->took_ns == CLOCK_NEVER)
        add_between(s, p->due_ns, p->due_ns + p->stall_ns, t, least_ns);
    else
        add_stall(
            s, p->due_ns, check_beyond_own_ns(l, p->due_ns, p->due_ns + p->stall_ns), least_ns);
}

// Adds the times of late samples and slow answers of one probe. With a slow answer, the server may
// have stood still since the query before, which was sent one period earlier.
static void add_answers(struct stall_list *s, const struct probe_sample *probes, size_t count,
    const struct ledger *l, const struct timeline *t, int64_t least_ns)
{
    for (size_t i = 0; i < count; i++) {
        const struct probe_sample *p = &probes[i];
        int64_t asked_ns = p->due_ns + p->stall_ns;
        add_late(s, p, l, t, least_ns);
        if (p->took_ns == CLOCK_NEVER || p->took_ns <= least_ns ||
            is_fault_at_work(t, asked_ns, asked_ns + p->took_ns))
            continue;
        add_stall(s, asked_ns - probe_every_ns, p->took_ns + probe_every_ns, least_ns);
    }
}

// True when the server was away in this fault, and may have come back with empty caches.
static bool is_cold_after(const struct fault_record *f)
{
    return f->began_ns && f->ok && verb_stops_server(f->spec->verb);
}

// A server that comes back is slow for everybody: it lets a probe connect, but has to read its
// catalogs and tables again when they are needed. The load's transactions show for how long.
static void add_cold_servers(struct stall_list *s, const struct ledger *l, int64_t least_ns)
{
    for (size_t i = 0; i < l->fault_count; i++) {
        int64_t back_ns = l->faults[i].ended_ns,
                until_ns = back_ns + l->scenario->recovery_limit_ns;
        for (size_t t = 0; is_cold_after(&l->faults[i]) && t < l->plan->txn_count; t++) {
            const struct txn_record *txn = &l->txns[t];
            int64_t from_ns = txn->sent_ns > back_ns ? txn->sent_ns : back_ns;
            // Only a transaction longer than the slack counts; least_ns is half of the slack.
            if (txn->outcome == TXN_COMMITTED && txn->sent_ns && from_ns < until_ns)
                add_stall(s, from_ns, txn->ended_ns - from_ns, 2 * least_ns);
        }
    }
}

// Sorts the stalls by their beginning, and joins those that overlap.
static void merge_stalls(struct stall_list *s)
{
    size_t kept = 0;

    if (s->count > 0)
        qsort(s->items, s->count, sizeof *s->items, clock_compare);
    for (size_t i = 0; i < s->count; i++) {
        struct stall *last = kept ? &s->items[kept - 1] : NULL;
        if (!last || s->items[i].from_ns > last->until_ns)
            s->items[kept++] = s->items[i];
        // Both probes and the reader may see the same stall, which must count once.
        else if (s->items[i].until_ns > last->until_ns)
            last->until_ns = s->items[i].until_ns;
    }
    s->count = kept;
}

void stall_list_make(struct stall_list *s, const struct ledger *l, const struct stalls *reader,
    const struct timeline *t, int64_t least_ns)
{
    *s = (struct stall_list){0};
    for (size_t i = 0; reader && i < reader->kept_count; i++) {
        const struct stall *k = &reader->kept[i];
        add_stall(s, k->from_ns, check_beyond_own_ns(l, k->from_ns, k->until_ns), least_ns);
    }
    add_answers(s, l->probes, l->probe_count, l, t, least_ns);
    add_answers(s, l->flushes, l->flush_count, l, t, least_ns);
    add_cold_servers(s, l, least_ns);
    merge_stalls(s);
}

void stall_list_fini(struct stall_list *s)
{
    free(s->items);
    *s = (struct stall_list){0};
}

// Returns the index of the first stall that ends after from_ns; s->count: none does.
static size_t first_stall_after(const struct stall_list *s, int64_t from_ns)
{
    return FIRST_AFTER(s->items, s->count, until_ns, from_ns);
}

int64_t stall_list_ns(const struct stall_list *s, int64_t from_ns, int64_t until_ns)
{
    int64_t taken_ns = 0;

    for (size_t i = first_stall_after(s, from_ns); i < s->count && s->items[i].from_ns < until_ns;
         i++) {
        int64_t begin_ns = s->items[i].from_ns > from_ns ? s->items[i].from_ns : from_ns;
        taken_ns += clock_min(s->items[i].until_ns, until_ns) - begin_ns;
    }
    return taken_ns;
}

int64_t stall_list_over_ns(const struct stall_list *s, int64_t at_ns)
{
    size_t i = first_stall_after(s, at_ns);

    return i < s->count && s->items[i].from_ns <= at_ns ? s->items[i].until_ns : at_ns;
}

struct cause stall_list_touches(
    const struct stall_list *s, int64_t from_ns, int64_t until_ns, int64_t least_ns)
{
    for (size_t i = first_stall_after(s, from_ns); i < s->count && s->items[i].from_ns < until_ns;
         i++) {
        if (s->items[i].until_ns - s->items[i].from_ns >= least_ns)
            return (struct cause){CAUSE_STALL, (uint32_t)i};
    }
    return CAUSE_IS_NONE;
}
