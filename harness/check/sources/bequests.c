// The tokens that an instance had taken when a fault struck it wait until it is back, or until
// another may take them.
#include "base/array.h"
#include "base/clock.h"
#include "check/check.h"
#include "check/harm.h"
#include "check/sources/sources.h"
#include "scenario/leased.h"

static int64_t latest(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

// Returns until when others must have written what the instance had taken.
static int64_t until_ns(const struct sources *s, const struct strike *k)
{
    const struct scenario *sc = s->l->scenario;
    int64_t back_ns = sources_back_ns(s, k, k->instance);
    int64_t handed_ns = harm_grace_ns(sc) + harm_takeover_ns;

    if (k->verb->ends == ENDS_PROCESSES || k->verb->ends == ENDS_SESSIONS)
        return latest(k->undone_ns + handed_ns, back_ns == CLOCK_NEVER ? 0 : back_ns);
    if (sc->collector.layout != LAYOUT_REFERENCE)
        return latest(k->undone_ns + scenario_returns_ns(sc), back_ns);
    return latest(clock_min(k->struck_ns + harm_hang_ns(sc), k->undone_ns) + handed_ns, back_ns);
}

// Returns how many tokens the instances can have taken. One that shares a backlog may take several
// lines at once, and nobody but it knows how many.
static uint64_t most_tokens(const struct scenario *s, int instances)
{
    const int at_once = 16;
    struct leased m;

    leased_read(&m, s);
    return (uint64_t)(instances * (m.on ? 1 + m.in_flight : at_once) * s->collector.batch_limit);
}

void source_bequests(struct sources *s)
{
    struct timeline *t = s->out;
    const struct scenario *sc = s->l->scenario;

    for (size_t i = 0; check_shares(sc) && i < s->strike_count; i++) {
        const struct strike *k = &s->strikes[i];
        int instances = k->instance == EVERY ? sc->collector.instances : 1;
        if (!array_grow(&t->bequests, t->bequest_count, 1, sizeof *t->bequests)) {
            s->full = true;
            return;
        }
        t->bequests[t->bequest_count++] = (struct bequest){k->struck_ns, until_ns(s, k),
            most_tokens(sc, instances), {CAUSE_ADOPTION, k->cause.index}};
    }
}
