// A collector in leased mode writes no further line while it has as many unanswered lines as may be
// in flight. The harness is the sender, so it knows when that was.
#include "check/lookup.h"
#include "check/sources/sources.h"

// Returns the index of the earliest of `count` times.
static int earliest_of(const int64_t *times_ns, int count)
{
    int earliest = 0;

    for (int i = 1; i < count; i++)
        earliest = times_ns[i] < times_ns[earliest] ? i : earliest;
    return earliest;
}

// Walks over the lines of one instance, and adds a span where as many lines as allowed await
// answers. `free_ns` has a place for each line that may be in flight: the time at which that line
// awaits no more answers.
static void walk_senders(struct sources *s, int instance, int64_t *free_ns)
{
    const struct ledger *l = s->l;
    const int places = s->leased.in_flight;
    // With one collector, nobody else can write while it may not, so the lines of all are excused.
    int excused = l->scenario->collector.instances > 1 ? instance : EVERY;

    for (int i = 0; i < places; i++)
        free_ns[i] = INT64_MIN;
    for (size_t i = 0; i < l->log->line_count; i++) {
        const struct line_record *line = &l->log->lines[i];
        if (l->log->processes[line->process].instance != instance || line->tokens == 0)
            continue;
        // A line takes the place of the line whose answers were complete first.
        free_ns[earliest_of(free_ns, places)] = line_answered_ns(l, &s->leased, line);
        // The next line can come when a place is free. If one is free now, the span is empty, and
        // sources_add_span drops it.
        int64_t until_ns = free_ns[earliest_of(free_ns, places)];
        sources_add_span(
            s, (struct span){line->read_ns, until_ns, excused, {CAUSE_SENDER, line->process}});
    }
}

void source_senders(struct sources *s)
{
    const int places = s->leased.in_flight;

    if (!s->leased.on || places < 1)
        return;
    int64_t *free_ns FREED_BY(memory_free) = memory_zeroed((size_t)places, sizeof *free_ns);
    for (int i = 0; i < s->l->scenario->collector.instances; i++)
        walk_senders(s, i, free_ns);
}
