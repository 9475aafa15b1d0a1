// The questions that the invariants ask about excused time.
//
// Spans are sorted by their beginning, and latest_ns keeps the latest end of each span and of all
// before it, so a binary search finds the first span that may matter. Spans may overlap, but no
// instant counts twice: free time is what none of them covers. Strikes, slowdowns and bequests are
// few, so the functions walk through all of them.
#include "check/timeline.h"

#include "check/lookup.h"

void timeline_fini(struct timeline *t)
{
    free(t->spans);
    free(t->latest_ns);
    free(t->strikes);
    free(t->slowdowns);
    free(t->bequests);
    *t = (struct timeline){0};
}

// --- questions ----------------------------------------------------------------------

// Returns the index of the first span that ends after from_ns. Spans behind it may end earlier.
static size_t first_beyond(const struct timeline *t, int64_t from_ns)
{
    return lookup_after(t->latest_ns, t->span_count, sizeof *t->latest_ns, from_ns);
}

// True when the span excuses this instance; ANY_INSTANCE: any instance.
static bool excuses(const struct span *s, int instance)
{
    return s->instance == EVERY || s->instance == instance || instance == ANY_INSTANCE;
}

// True when the span excuses the lines of this instance. While only the instance itself is away,
// others can write its tokens. While its reader or its sender is away, nobody gets its lines.
static bool excuses_lines(const struct span *s, int instance)
{
    bool has_the_lines = s->cause.kind == CAUSE_READER || s->cause.kind == CAUSE_SENDER;

    return s->instance == EVERY || (s->instance == instance && has_the_lines);
}

struct free_time timeline_free(
    const struct timeline *t, int instance, int64_t from_ns, int64_t until_ns)
{
    struct free_time f = {.ns = until_ns > from_ns ? until_ns - from_ns : 0};
    int64_t done_ns = from_ns, most_ns = 0; // overlaps count once: all before done_ns is counted

    for (size_t i = first_beyond(t, from_ns); i < t->span_count; i++) {
        const struct span *s = &t->spans[i];
        int64_t begin_ns = s->from_ns > done_ns ? s->from_ns : done_ns;
        int64_t end_ns = clock_min(s->until_ns, until_ns);
        if (s->from_ns >= until_ns)
            break;
        if (!excuses_lines(s, instance) || end_ns <= begin_ns)
            continue;
        f.ns -= end_ns - begin_ns;
        done_ns = end_ns;
        if (end_ns - begin_ns > most_ns) {
            most_ns = end_ns - begin_ns;
            f.cause = s->cause;
        }
    }
    return f;
}

int64_t timeline_due_ns(const struct timeline *t, int instance, int64_t from_ns, int64_t need_ns)
{
    int64_t at_ns = from_ns; // need_ns still counts from here

    for (size_t i = first_beyond(t, from_ns); i < t->span_count; i++) {
        const struct span *s = &t->spans[i];
        if (!excuses_lines(s, instance) || s->until_ns <= at_ns)
            continue;
        if (s->from_ns > at_ns) {
            // The needed time has passed before this span begins.
            if (s->from_ns - at_ns >= need_ns)
                break;
            need_ns -= s->from_ns - at_ns;
        }
        at_ns = s->until_ns;
    }
    // After a span without an end, there is no free time.
    return at_ns >= CLOCK_NEVER - need_ns ? CLOCK_NEVER : at_ns + need_ns;
}

const struct span *timeline_span(
    const struct timeline *t, int instance, int64_t from_ns, int64_t until_ns)
{
    // A span that ends at from_ns touches the time, too.
    for (size_t i = first_beyond(t, from_ns - 1); i < t->span_count; i++) {
        const struct span *s = &t->spans[i];
        if (s->from_ns > until_ns)
            break;
        if (excuses(s, instance) && s->until_ns >= from_ns)
            return s;
    }
    return NULL;
}

struct cause timeline_cause(
    const struct timeline *t, int instance, int64_t from_ns, int64_t until_ns)
{
    const struct span *s = timeline_span(t, instance, from_ns, until_ns);

    return s ? s->cause : timeline_allowance(t, from_ns, until_ns).cause;
}

const struct strike *timeline_strike(const struct timeline *t, const struct strike *after,
    int instance, int64_t from_ns, int64_t until_ns)
{
    const struct strike *end = t->strikes + t->strike_count;

    for (const struct strike *k = after ? after + 1 : t->strikes; k < end; k++) {
        bool on_it = instance == EVERY || k->instance == EVERY || k->instance == instance;
        if (k->struck_ns > until_ns)
            break;
        if (on_it && k->undone_ns >= from_ns)
            return k;
    }
    return NULL;
}

int64_t timeline_strike_takes_ns(const struct strike *k, int64_t *done_ns, int64_t until_ns)
{
    int64_t begin_ns = clock_max(k->struck_ns, *done_ns);
    int64_t end_ns = clock_min(k->undone_ns, until_ns);

    *done_ns = clock_max(*done_ns, end_ns);
    return clock_max(end_ns - begin_ns, 0);
}

struct cause timeline_disturbed_by(
    const struct timeline *t, int instance, int64_t from_ns, int64_t until_ns)
{
    for (size_t i = 0; i < t->strike_count && t->strikes[i].struck_ns < until_ns; i++) {
        const struct strike *k = &t->strikes[i];
        bool on_it = instance == ANY_INSTANCE || k->instance == EVERY || k->instance == instance;
        bool never_back = instance == ANY_INSTANCE && k->back_ns == CLOCK_NEVER;
        if (on_it && clock_max(k->undone_ns, never_back ? k->others_ns : k->back_ns) > from_ns)
            return k->cause;
    }
    return timeline_allowance(t, from_ns, until_ns).cause;
}

int64_t timeline_settled_ns(const struct timeline *t, int instance, int64_t until_ns)
{
    int64_t settled_ns = INT64_MIN;

    for (size_t i = 0; i < t->span_count && t->spans[i].from_ns < until_ns; i++) {
        if (excuses(&t->spans[i], instance))
            settled_ns = clock_max(settled_ns, t->spans[i].until_ns);
    }
    for (size_t i = 0; i < t->strike_count && t->strikes[i].struck_ns < until_ns; i++) {
        const struct strike *k = &t->strikes[i];
        if (instance == EVERY || k->instance == EVERY || k->instance == instance)
            settled_ns = clock_max(settled_ns, clock_max(k->undone_ns, k->back_ns));
    }
    for (size_t i = 0; i < t->slowdown_count && t->slowdowns[i].from_ns < until_ns; i++) {
        const struct slowdown *s = &t->slowdowns[i];
        settled_ns = clock_max(settled_ns, s->until_ns + s->tail_ns);
    }
    return settled_ns;
}

struct free_time timeline_allowance(const struct timeline *t, int64_t from_ns, int64_t until_ns)
{
    struct free_time sum = {0};

    for (size_t i = 0; i < t->slowdown_count; i++) {
        const struct slowdown *s = &t->slowdowns[i];
        if (s->from_ns >= until_ns || s->until_ns + s->tail_ns <= from_ns)
            continue;
        // The fault is over, but a request that is still on its way keeps the next one waiting.
        if (s->until_ns <= from_ns) {
            sum.ns += s->until_ns + s->tail_ns - from_ns;
            sum.cause = s->cause;
            continue;
        }
        // A wait grows by no more than the time that the fault lasts within it, and one step: what
        // is on its way when the fault ends still arrives late, what starts later does not. And it
        // grows by no more than all steps of a token's way together.
        int64_t lasts_ns = clock_min(s->until_ns, until_ns) - clock_max(s->from_ns, from_ns);
        sum.ns += clock_min(s->allows_ns, lasts_ns + s->step_ns);
        sum.cause = s->cause;
    }
    return sum;
}

struct bequest *timeline_next_bequest(
    const struct timeline *t, const struct bequest *after, int64_t from_ns, int64_t until_ns)
{
    for (size_t i = after ? (size_t)(after - t->bequests) + 1 : 0; i < t->bequest_count; i++) {
        struct bequest *b = &t->bequests[i];
        if (b->struck_ns >= from_ns && b->struck_ns <= until_ns && b->tokens_left > 0)
            return b;
    }
    return NULL;
}
