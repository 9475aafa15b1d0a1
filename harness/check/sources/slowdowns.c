// A fault that delays each step by a known time excuses no time as a whole: while it lasts, a
// token's way may take longer by some steps.
#include "base/array.h"
#include "check/sources/sources.h"

static const int steps =
    10; // round trips or flushes of a token's way, with those of the line before

// Returns by how much longer one step takes: a delay of the network meets both ways of a round
// trip.
static int64_t longer_ns(const struct fault_spec *f)
{
    int64_t by_ns = f->by_ns + f->jitter_ns;

    return f->verb->hits == HITS_NETWORK ? 2 * by_ns : by_ns;
}

void source_slowdowns(struct sources *s)
{
    struct timeline *t = s->out;

    for (uint32_t i = 0; i < s->l->fault_count; i++) {
        const struct fault_record *f = &s->l->faults[i];
        if (!f->began_ns || !(f->spec->verb->params & PARAM_BY))
            continue;
        if (!array_grow(&t->slowdowns, t->slowdown_count, 1, sizeof *t->slowdowns)) {
            s->full = true;
            return;
        }
        t->slowdowns[t->slowdown_count++] = (struct slowdown){.from_ns = f->began_ns,
            .until_ns = f->ended_ns,
            .step_ns = longer_ns(f->spec),
            .allows_ns = steps * longer_ns(f->spec),
            .cause = {CAUSE_FAULT, i}};
    }
}
