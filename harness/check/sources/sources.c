// Makes the timeline: lists what struck the subject, asks each source for its spans, and sorts
// them.
#include "check/sources/sources.h"

// Sorts the spans and fills in latest_ns[i], the latest end of spans 0 to i, for the binary search
// of timeline.c.
static void index_spans(struct timeline *t)
{
    int64_t latest_ns = INT64_MIN;

    t->latest_ns = memory_zeroed(t->span_count, sizeof *t->latest_ns);
    // Spans that begin at the same time may come in any order, which decides only the cause that is
    // named.
    if (t->span_count)
        qsort(t->spans, t->span_count, sizeof *t->spans, clock_compare);
    for (size_t i = 0; i < t->span_count; i++) {
        latest_ns = t->spans[i].until_ns > latest_ns ? t->spans[i].until_ns : latest_ns;
        t->latest_ns[i] = latest_ns;
    }
}

void sources_make(struct timeline *t, const struct ledger *l)
{
    static void (*const sources[])(struct sources * s) = {source_faults, source_returns,
        source_takeovers, source_readers, source_senders, source_together, source_slowdowns,
        source_bequests};
    struct sources s = {.l = l, .timeline = t};

    *t = (struct timeline){0};
    leased_read(&s.leased, l->scenario);
    strikes_make(&s);
    for (size_t i = 0; i < sizeof sources / sizeof *sources; i++)
        sources[i](&s);
    index_spans(t);
}
