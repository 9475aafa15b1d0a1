// Functions that the sources share: which strikes do not excuse their whole time, and how a span is
// added.
#include "check/sources/sources.h"

// If all are struck, nobody is left to take over. A collector whose output nobody reads keeps its
// turn.
bool strike_is_taken_over(const struct sources *s, const struct strike *k)
{
    return k->instance != EVERY && !scenario_shares(s->l->scenario) &&
           k->cause.kind != CAUSE_READER;
}

bool strike_slows_reader(const struct strike *k)
{
    return k->verb->hits == HITS_READER && k->verb->does == SLOWS;
}

void sources_add_span(struct sources *s, struct span span)
{
    if (span.until_ns <= span.from_ns)
        return;
    memory_grow(&s->timeline->spans, s->timeline->span_count, 1, sizeof span);
    s->timeline->spans[s->timeline->span_count++] = span;
}
