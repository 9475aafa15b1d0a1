// The tokens that an instance had taken when a fault struck it wait until it is back, or until
// another may take them.
//
// Where the work is shared, an instance that is away does not excuse tokens as such, because the
// others can write them. Only the tokens that it had taken may come later. Another must take them
// over within grace + 1 s, and then has as long to write them as for fresh ones (late.c). The
// grace + 1 s begin
// - after a fault that ended processes or sessions: when the fault is undone;
// - after any other fault, such as a hang: when others may take over (bounds_hang_ns) or when the
//   fault is undone, whichever comes first;
// - after such a fault without the promise of a lease: when it is undone. They last at least
//   scenario_returns_ns then, because the instance itself may be the one that writes the tokens.
//
// If the struck instance itself writes them, its time begins with its return, unless it hung for
// longer than a promised lease while another was free.
//
// A late token is excused by one bequest, or by two if a fault struck again before the instance
// that took the token over had written it. A bequest excuses no more tokens than the struck
// instances can have taken.
#include "check/bounds.h"
#include "check/sources/sources.h"

// Returns by when others must have taken over what the instance had taken. A hung instance keeps
// its tokens until its lease is over or another strike ends its session or, without a lease, until
// it goes on.
static int64_t others_until_ns(const struct sources *s, const struct strike *k)
{
    const struct timeline *t = s->timeline;
    const struct scenario *sc = s->l->scenario;
    int64_t handed_ns = bounds_grace_ns(sc) + bounds_takeover_ns;

    if (k->verb->ends == ENDS_PROCESSES || k->verb->ends == ENDS_SESSIONS)
        return k->undone_ns + handed_ns;
    if (!(sc->collector.promises & PROMISE_LEASE))
        return k->undone_ns + clock_max(handed_ns, scenario_returns_ns(sc));
    int64_t until_ns = clock_min(k->struck_ns + bounds_hang_ns(sc), k->undone_ns) + handed_ns;
    // Strikes are in the order of time, so those that hit the hung instance meanwhile follow k.
    for (const struct strike *next = k;
         (next = timeline_strike(t, next, k->instance, k->struck_ns, k->undone_ns));) {
        if (next->verb->ends == ENDS_PROCESSES || next->verb->ends == ENDS_SESSIONS)
            until_ns = clock_max(until_ns, next->undone_ns + handed_ns);
    }
    return until_ns;
}

// True when one of the other instances was disturbed by no fault in all that time.
static bool another_was_free(
    const struct sources *s, int instance, int64_t from_ns, int64_t until_ns)
{
    for (int i = 0; i < s->l->scenario->collector.instances; i++) {
        if (i != instance &&
            timeline_disturbed_by(s->timeline, i, from_ns, until_ns).kind == CAUSE_NONE)
            return true;
    }
    return false;
}

// Returns by when the struck instance itself must be able to write what it had taken.
static int64_t own_until_ns(const struct sources *s, const struct strike *k, int64_t until_ns)
{
    bool leases = s->l->scenario->collector.promises & PROMISE_LEASE;

    // An instance that never comes back writes nothing itself, so the time of the others counts.
    if (k->back_ns == CLOCK_NEVER)
        return until_ns;
    // A hung instance loses its lease. If another could take its tokens, they need not wait for its
    // return.
    if (leases && k->instance != EVERY && k->verb->hits == HITS_PROCESS &&
        k->undone_ns > until_ns && another_was_free(s, k->instance, k->struck_ns, until_ns))
        return until_ns;
    return clock_max(until_ns, k->back_ns);
}

// Returns how many tokens the instances can have taken. In leased mode an instance has the lines
// that may be in flight, and one that it has yet to write. In the other modes it may take several
// lines at once, and nobody else knows how many, so 16 are assumed.
static uint64_t most_tokens(const struct sources *s, int instances)
{
    const int at_once = 16;

    return (uint64_t)instances * (uint64_t)(s->leased.on ? 1 + s->leased.in_flight : at_once) *
           (uint64_t)s->l->scenario->collector.batch_limit;
}

void source_bequests(struct sources *s)
{
    struct timeline *t = s->timeline;
    const struct scenario *sc = s->l->scenario;

    for (size_t i = 0; scenario_shares(sc) && i < t->strike_count; i++) {
        const struct strike *k = &t->strikes[i];
        // A strike on all instances may leave what each of them had taken.
        int instances = k->instance == EVERY ? sc->collector.instances : 1;
        memory_grow(&t->bequests, t->bequest_count, 1, sizeof *t->bequests);
        int64_t until_ns = others_until_ns(s, k);
        t->bequests[t->bequest_count++] = (struct bequest){.struck_ns = k->struck_ns,
            .until_ns = until_ns,
            .own_until_ns = own_until_ns(s, k, until_ns),
            .instance = k->instance,
            .tokens_left = most_tokens(s, instances),
            .cause = {CAUSE_ADOPTION, k->cause.index}};
    }
}
