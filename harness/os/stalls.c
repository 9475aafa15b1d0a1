#include "os/ticker.h"

void stalls_keep(struct stalls *s, struct stall stall)
{
    memory_grow(&s->kept, s->kept_count, 1, sizeof stall);
    s->kept[s->kept_count++] = stall;
}

void stalls_note(struct stalls *s, int64_t from_ns, int64_t until_ns)
{
    int64_t length = until_ns - from_ns;

    if (length < STALLS_LEAST_NS)
        return;
    stalls_keep(s, (struct stall){from_ns, until_ns});
    s->count++;
    s->total_ns += length;
    if (length > s->longest_ns)
        s->longest_ns = length;
}

void stalls_fini(struct stalls *s)
{
    free(s->kept);
    *s = (struct stalls){0};
}
