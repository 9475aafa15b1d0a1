#include "report/met.h"

static const int64_t before_ns = NS_PER_S;            // how long an ended fault may have an effect
static const int64_t overdue_after_ns = 2 * NS_PER_S; // a token may wait so long after its batch
                                                      // timeout

// Returns the time of the last delivery or answer; 0 without one.
static int64_t last_seen_ns(const struct ledger *l, uint32_t token)
{
    int64_t last_ns = 0;

    for (size_t i = 0; i < l->log->delivery_count; i++) {
        const struct delivery *d = &l->log->deliveries[i];
        if (d->token == token)
            last_ns = clock_max(last_ns, clock_max(l->log->lines[d->line].read_ns, d->replied_ns));
    }
    return last_ns;
}

// Returns when a token that has waited since `from_ns` is overdue, at the latest at the end of the
// drain. The time under faults does not count.
static int64_t overdue_at_ns(const struct ledger *l, int64_t from_ns)
{
    int64_t at_ns = from_ns + l->scenario->collector.batch_timeout_ns + overdue_after_ns;
    int64_t counted_ns = from_ns; // end of the faults that were counted so far; overlapping faults
                                  // count once

    for (size_t i = 0; i < l->fault_count; i++) {
        const struct fault_record *f = &l->faults[i];
        // A fault that began after the token was overdue did not delay it.
        if (!f->began_ns || f->began_ns > at_ns || f->ended_ns <= counted_ns)
            continue;
        at_ns += f->ended_ns - clock_max(f->began_ns, counted_ns);
        counted_ns = f->ended_ns;
    }
    return clock_min(at_ns, l->drain_end_ns);
}

struct met met_of(const struct ledger *l, uint32_t token)
{
    const struct ledger_token *t = &l->tokens[token];
    const bool leased = l->scenario->collector.dequeue == DEQUEUE_LEASED;
    const bool overdue = t->deliveries == 0 || (leased && t->outcome == OUTCOME_NONE);
    const int64_t begin_ns = ledger_begin_ns(l, token);
    const int64_t last_ns = clock_max(last_seen_ns(l, token), begin_ns);

    return (struct met){.from_ns = begin_ns - before_ns,
        .until_ns = overdue ? overdue_at_ns(l, last_ns) : last_ns,
        .overdue = overdue};
}

bool met_includes(const struct met *m, const struct fault_record *f)
{
    return f->began_ns && f->ended_ns >= m->from_ns && f->began_ns <= m->until_ns;
}
