#include "os/stalls.h"

void stalls_note(struct stalls *s, int64_t from_ns, int64_t until_ns)
{
    int64_t length = until_ns - from_ns;

    if (length < STALLS_LEAST_NS)
        return;
    if (s->count < STALLS_KEPT)
        s->kept[s->count] = (struct stall){from_ns, until_ns};
    s->count++;
    s->total_ns += length;
    if (length > s->longest_ns)
        s->longest_ns = length;
}
