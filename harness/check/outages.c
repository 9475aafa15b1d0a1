#include "check/outages.h"

#include <stdlib.h>

#include "base/clock.h"
#include "check/hits.h"
#include "check/inside.h"

static int64_t latest(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

// --- takeovers --------------------------------------------------------------------

// Returns the time from which on no hit keeps this instance away.
static int64_t free_ns(const struct hits *hits, int instance, int64_t at_ns)
{
    for (size_t i = 0; i < hits->count && hits->items[i].from_ns <= at_ns; i++) {
        if (hits->items[i].instance == instance)
            at_ns = latest(at_ns, hits->items[i].back_ns);
    }
    return at_ns;
}

// Returns when others must have taken over from the hit instance; CLOCK_NEVER when all are hit.
// They take over as soon as one of them can work, so the time to take over counts from then on.
static int64_t others_carry_on_ns(
    const struct scenario *s, const struct hits *hits, const struct hit *h)
{
    int64_t first_ns = CLOCK_NEVER;

    if (h->instance < 0)
        return CLOCK_NEVER;
    for (int i = 0; i < s->collector.instances; i++) {
        if (i != h->instance)
            first_ns = clock_min(first_ns, free_ns(hits, i, h->from_ns));
    }
    return first_ns == CLOCK_NEVER ? CLOCK_NEVER : first_ns + h->carry_on_ns;
}

// Returns until when the lines of the others may lack tokens that the hit instance had taken. A
// collector that hangs keeps them until another fault ends its session. Then others write them, and
// nobody knows which tokens these were.
static int64_t kept_until_ns(const struct hits *hits, const struct hit *h)
{
    int64_t kept_ns = h->from_ns;

    if (h->instance < 0 || h->harm == HARM_PROCESS)
        return kept_ns;
    for (size_t i = 0; i < hits->count && hits->items[i].from_ns < h->handed_ns; i++) {
        if (hits->items[i].instance < 0)
            kept_ns = latest(kept_ns, hits->items[i].from_ns);
    }
    return kept_ns;
}

// Returns what a hit takes from collectors that take turns: the others write the tokens that a lost
// one had taken.
static struct outage in_turns(const struct hit *h, int64_t others_ns)
{
    int64_t until_ns = clock_min(h->handed_ns, others_ns);

    return (struct outage){.from_ns = h->from_ns,
        .until_ns = until_ns,
        .own_until_ns = until_ns,
        .others_ns = others_ns,
        .instance = -1,
        .cause = h->cause};
}

// Returns what a hit takes from collectors that share the work. The others leave the tokens that
// the hit one had taken alone until it returns.
static struct outage shared(const struct hits *hits, const struct hit *h, int64_t others_ns)
{
    int64_t carry_on_ns = clock_min(h->handed_ns - harm_takeover_ns, others_ns) + harm_takeover_ns;

    return (struct outage){.from_ns = h->from_ns,
        .until_ns = latest(carry_on_ns, kept_until_ns(hits, h)),
        .own_until_ns = h->handed_ns,
        .others_ns = others_ns,
        .instance = h->instance,
        .cause = h->cause};
}

static struct outage outage_of(
    const struct scenario *s, const struct hits *hits, const struct hit *h)
{
    int64_t carry_on_ns = others_carry_on_ns(s, hits, h);

    return check_shares(s) ? shared(hits, h, carry_on_ns) : in_turns(h, carry_on_ns);
}

bool outages_make(struct outages *o, const struct ledger *l, struct err *e)
{
    struct hits hits;
    int64_t latest_ns = INT64_MIN;

    *o = (struct outages){0};
    if (!hits_make(&hits, l, e))
        return false;
    o->items = calloc(hits.count + 1, sizeof *o->items);
    for (; o->items && o->count < hits.count; o->count++) {
        struct outage one = outage_of(l->scenario, &hits, &hits.items[o->count]);
        latest_ns = latest(latest_ns, latest(one.until_ns, one.own_until_ns));
        one.latest_ns = latest_ns;
        o->items[o->count] = one;
    }
    hits_fini(&hits);
    return o->items || err_memory(e);
}

void outages_fini(struct outages *o)
{
    free(o->items);
    *o = (struct outages){0};
}

// --- fault-free time --------------------------------------------------------------

// Returns the first outage that may still last after `from_ns`.
static size_t first_after(const struct outages *o, int64_t from_ns)
{
    size_t low = 0, high = o->count;

    while (low < high) {
        size_t mid = low + (high - low) / 2;
        if (o->items[mid].latest_ns <= from_ns)
            low = mid + 1;
        else
            high = mid;
    }
    return low;
}

static int64_t ends_ns(const struct outage *o, int instance)
{
    return instance >= 0 && o->instance == instance ? o->own_until_ns : o->until_ns;
}

struct fault_free outages_free(
    const struct outages *o, int instance, int64_t from_ns, int64_t until_ns)
{
    struct fault_free f = {.ns = until_ns > from_ns ? until_ns - from_ns : 0};
    int64_t done_ns = from_ns, most_ns = -1;

    for (size_t i = first_after(o, from_ns); i < o->count; i++) {
        const struct outage *out = &o->items[i];
        int64_t end_ns = clock_min(ends_ns(out, instance), until_ns);
        if (out->from_ns >= until_ns)
            break;
        if (ends_ns(out, instance) <= from_ns)
            continue;
        f.faults++;
        int64_t taken_ns = end_ns - latest(out->from_ns, done_ns);
        if (taken_ns > most_ns) {
            most_ns = taken_ns;
            f.cause = out->cause;
        }
        if (taken_ns > 0)
            f.ns -= taken_ns;
        done_ns = latest(done_ns, end_ns);
    }
    return f;
}

struct cause outages_hit(const struct outages *o, int instance, int64_t from_ns, int64_t until_ns)
{
    for (size_t i = first_after(o, from_ns); i < o->count && o->items[i].from_ns < until_ns; i++) {
        const struct outage *out = &o->items[i];
        bool hit = out->instance < 0 || out->instance == instance;
        if (hit && latest(out->until_ns, out->own_until_ns) > from_ns)
            return out->cause;
    }
    return CAUSE_IS_NONE;
}

int64_t outages_latest_ns(const struct outages *o, int64_t until_ns)
{
    size_t low = 0, high = o->count;

    while (low < high) {
        size_t mid = low + (high - low) / 2;
        if (o->items[mid].from_ns <= until_ns)
            low = mid + 1;
        else
            high = mid;
    }
    return low > 0 ? o->items[low - 1].from_ns : INT64_MIN;
}

bool outages_last(const struct outages *o, int64_t at_ns)
{
    for (size_t i = first_after(o, at_ns); i < o->count && o->items[i].from_ns <= at_ns; i++) {
        if (o->items[i].own_until_ns >= at_ns)
            return true;
    }
    return false;
}

int64_t outages_due_ns(const struct outages *o, int instance, int64_t from_ns, int64_t need_ns)
{
    int64_t at_ns = from_ns;

    for (size_t i = first_after(o, from_ns); i < o->count; i++) {
        const struct outage *out = &o->items[i];
        if (out->from_ns > at_ns) {
            if (out->from_ns - at_ns >= need_ns)
                break;
            need_ns -= out->from_ns - at_ns;
            at_ns = out->from_ns;
        }
        at_ns = latest(at_ns, ends_ns(out, instance));
    }
    return at_ns + need_ns;
}
