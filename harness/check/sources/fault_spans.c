// From the strike until the fault is undone, the struck instance cannot work.
//
// A fault that is no strike (strikes.c) excuses nothing here. Where the work is shared, a reader
// that is away excuses only its own instance; where instances take turns, it excuses all, because
// the holder rightly keeps its turn.
#include "check/sources/sources.h"

void source_faults(struct sources *s)
{
    for (size_t i = 0; i < s->timeline->strike_count; i++) {
        const struct strike *k = &s->timeline->strikes[i];
        if (strike_is_taken_over(s, k) || strike_slows_reader(k))
            continue; // takeovers.c and readers.c add the spans of these
        bool turn_kept = k->verb->hits == HITS_READER && !scenario_shares(s->l->scenario);
        sources_add_span(s,
            (struct span){k->struck_ns, k->undone_ns, turn_kept ? EVERY : k->instance, k->cause});
    }
}
