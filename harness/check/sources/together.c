// While each of several instances has a span of its own, nobody can work, so the lines of all are
// excused.
#include "check/sources/sources.h"

// The beginning or the end of an instance's span.
struct edge {
    int64_t at_ns;
    int instance;
    int by; // 1: a span begins, -1: a span ends
    struct cause cause;
};

// Orders edges by time. At the same time ends come before beginnings, so that spans which only
// touch do not count as together.
static int by_together(const void *a, const void *b)
{
    const struct edge *x = a, *y = b;

    return x->at_ns != y->at_ns ? (x->at_ns > y->at_ns) - (x->at_ns < y->at_ns) : x->by - y->by;
}

// Lists the edges of all spans that belong to one instance, sorted. Returns how many there are.
static size_t list_edges(const struct timeline *t, int instances, struct edge *edges)
{
    size_t count = 0;

    for (size_t i = 0; i < t->span_count; i++) {
        const struct span *s = &t->spans[i];
        // A damaged history may name an instance that the scenario does not have.
        if (s->instance == EVERY || s->instance >= instances)
            continue;
        edges[count++] = (struct edge){s->from_ns, s->instance, 1, s->cause};
        edges[count++] = (struct edge){s->until_ns, s->instance, -1, s->cause};
    }
    qsort(edges, count, sizeof *edges, by_together);
    return count;
}

// Adds a span wherever all instances are away, from the edge at which the last one leaves to the
// next edge. open[i] counts the open spans of instance i, and `away` the instances that have one.
static void walk_together(struct sources *s, const struct edge *edges, size_t count, int *open)
{
    int instances = s->l->scenario->collector.instances, away = 0;

    for (size_t i = 0; i < count; i++) {
        const struct edge *e = &edges[i];
        int before = open[e->instance];
        open[e->instance] += e->by;
        away += (open[e->instance] > 0) - (before > 0);
        // After the last edge no span is open.
        if (away == instances && i + 1 < count)
            sources_add_span(s, (struct span){e->at_ns, edges[i + 1].at_ns, EVERY, e->cause});
    }
}

void source_together(struct sources *s)
{
    int instances = s->l->scenario->collector.instances;

    if (instances == 1)
        return;
    struct edge *edges FREED_BY(memory_free) =
        memory_zeroed(2 * s->timeline->span_count, sizeof *edges);
    int *open FREED_BY(memory_free) = memory_zeroed((size_t)instances, sizeof *open);
    walk_together(s, edges, list_edges(s->timeline, instances, edges), open);
}
