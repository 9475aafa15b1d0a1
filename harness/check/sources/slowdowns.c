// A fault that delays each step by a known time excuses no time as a whole: while it lasts, a
// token's way may take longer by some steps.
#include "base/array.h"
#include "check/harm.h"
#include "check/sources/sources.h"

static const int steps =
    10; // round trips or flushes of a token's way, with those of the line before

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
        t->slowdowns[t->slowdown_count++] = (struct slowdown){f->began_ns, f->ended_ns,
            steps * (f->spec->by_ns + f->spec->jitter_ns), {CAUSE_FAULT, i}};
    }
}
