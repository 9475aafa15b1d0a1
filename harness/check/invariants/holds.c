// holds: a transaction of the collector, with its snapshot, was open in two looks a second apart.
//
// The harness looks once a second, by its own clock, and knows a transaction by its session and its
// start, or a prepared one by its name. Time does not count while the transaction waits for
// something in the server, such as a lock or a disk; while a fault hits the session, the process,
// the network or the server; in a stall; or while others keep the processors from the collector.
// Time with a paused reader counts, because just then no transaction may stay open. holds is judged
// where `releases` is promised and our rights show the collector's sessions.
#include "check/inside.h"

static const int64_t held_ns = NS_PER_S;
static const int64_t apart_most_ns = 2 * NS_PER_S; // looks further apart show too little

// Returns the length of a stretch of time, less the faults in it that may keep the collector from
// ending its transaction. *cause is the last of these faults; CAUSE_NONE: there was none. Faults of
// the reader and of the sender do not count, because a collector can end its transaction meanwhile.
// Other clients' locks (HITS_DATABASE) do not count, because the looks leave out the wait for them.
// Nobody knows whose session it is, so a strike on any instance counts.
static int64_t free_ns(
    const struct check *c, int64_t from_ns, int64_t until_ns, struct cause *cause)
{
    struct free_time slack = check_slack(c, from_ns, until_ns);
    // check_slack adds to the run's slack only the time of slow faults.
    int64_t ns = until_ns - from_ns - (slack.ns - c->r->slack_ns);
    int64_t done_ns = from_ns;
    const struct strike *k = NULL;

    *cause = slack.cause;
    while ((k = timeline_strike(&c->timeline, k, EVERY, from_ns, until_ns))) {
        if (k->verb->hits == HITS_READER || k->verb->hits == HITS_SENDER ||
            k->verb->hits == HITS_DATABASE)
            continue;
        ns -= timeline_strike_takes_ns(k, &done_ns, until_ns);
        *cause = k->cause;
    }
    return ns;
}

// Adds a finding if the transaction was open for a second in which nothing disturbed the collector.
static void check_hold(const struct check *c, const struct presence_hold *h)
{
    struct cause cause;
    int64_t ns = free_ns(c, h->from_ns, h->until_ns, &cause);

    if (check_left(c, ANY_PROCESS, h->from_ns, h->until_ns, ns, 1).ns < held_ns)
        return;
    if (h->pid == 0)
        finding_add(c->r, METRIC_HOLDS, "a prepared transaction, from %.3f s to %.3f s at least",
            ledger_seconds(c->l, h->from_ns), ledger_seconds(c->l, h->until_ns));
    else
        finding_add(c->r, METRIC_HOLDS,
            "the same transaction of backend %u was open from %.3f s to %.3f s at least", h->pid,
            ledger_seconds(c->l, h->from_ns), ledger_seconds(c->l, h->until_ns));
}

void check_holds(const struct check *c)
{
    const struct ledger *l = c->l;

    for (size_t i = 1; i < l->look_count; i++) {
        int64_t from_ns = l->looks[i - 1].at_ns, until_ns = l->looks[i].at_ns;
        struct cause cause;
        // Nothing is known of so long a gap, so it is not judged.
        if (until_ns - from_ns > apart_most_ns)
            continue;
        free_ns(c, from_ns, until_ns, &cause);
        judged_add(c->r, METRIC_HOLDS, (double)(until_ns - from_ns) / 1e9, cause);
    }
    for (size_t i = 0; i < l->hold_count; i++)
        check_hold(c, &l->holds[i]);
}
