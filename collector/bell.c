#include "bell.h"

#include <stdlib.h>

#include "base/clock.h"

#define FIRST_NS NS_PER_MS
#define LAST_LOOK_NS (50 * NS_PER_MS) // the pause between looks while a silent transaction runs
#define LAST_TRY_NS NS_PER_S          // the pause between tries while somebody else has the bell

static void again(struct bell *b, int64_t last_ns, int64_t now_ns)
{
    b->every_ns = b->every_ns > 0 ? clock_min(2 * b->every_ns, last_ns) : FIRST_NS;
    b->look_at_ns = now_ns + b->every_ns;
}

void bell_answered(struct bell *b, bool ours, int64_t now_ns)
{
    if (ours) {
        *b = (struct bell){.step = BELL_OURS};
        return;
    }
    b->step = BELL_WANTED;
    again(b, LAST_TRY_NS, now_ns);
}

void bell_looked(struct bell *b, const char *snapshot, int64_t now_ns)
{
    char *end;
    uint64_t xmin = strtoull(snapshot, &end, 10);
    uint64_t xmax = strtoull(*end ? end + 1 : end, NULL, 10);

    if (b->step != BELL_OURS)
        return;
    if (b->silent_below == 0)
        b->silent_below = xmax;
    if (xmin >= b->silent_below)
        b->every_ns = b->look_at_ns = 0;
    else
        again(b, LAST_LOOK_NS, now_ns);
}

int64_t bell_due_ns(const struct bell *b)
{
    return b->look_at_ns > 0 || b->step == BELL_LET_GO ? b->look_at_ns : CLOCK_NEVER;
}
