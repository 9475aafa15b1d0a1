// A collector in leased mode writes no further line while it has as many unanswered lines as may be
// in flight. The harness is the sender, so it knows when that was.
#include "check/lookup.h"
#include "check/sources/sources.h"

// Walks over the lines of one instance, and adds a span where as many lines as allowed await
// answers. `in_flight` has a place for each line that may be in flight: the time at which that line
// awaits no more answers.
static void walk_senders(
    struct sources *s, const struct leased *m, int instance, int64_t *in_flight)
{
    const struct ledger *l = s->l;

    for (int i = 0; i < m->in_flight; i++)
        in_flight[i] = INT64_MIN;
    for (size_t i = 0; i < l->log->line_count; i++) {
        const struct line_record *line = &l->log->lines[i];
        if (l->log->processes[line->process].instance != instance || line->tokens == 0)
            continue;
        int slot = 0, first = 0;
        // A line takes the place of the line whose answers were complete first.
        for (int k = 1; k < m->in_flight; k++)
            slot = in_flight[k] < in_flight[slot] ? k : slot;
        in_flight[slot] = line_answered_ns(l, m, line);
        for (int k = 1; k < m->in_flight; k++)
            first = in_flight[k] < in_flight[first] ? k : first;
        // The next line can come when the first place is free. If one is free already, the span is
        // empty, and not added. The only collector's span excuses the lines of all.
        int excused = l->scenario->collector.instances > 1 ? instance : EVERY;
        sources_add_span(s,
            (struct span){line->read_ns, in_flight[first], excused, {CAUSE_SENDER, line->process}});
    }
}

void source_senders(struct sources *s)
{
    struct leased m;

    leased_read(&m, s->l->scenario);
    if (!m.on || m.in_flight < 1)
        return;
    int64_t *in_flight FREED_BY(memory_free) =
        memory_zeroed((size_t)m.in_flight, sizeof *in_flight);
    for (int i = 0; i < s->l->scenario->collector.instances; i++)
        walk_senders(s, &m, i, in_flight);
}
