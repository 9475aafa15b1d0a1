#include "timing/bell.h"

#include <stdlib.h>

#include "base/clock.h"

#define FIRST_NS NS_PER_MS
#define LAST_LOOK_NS (25 * NS_PER_MS) // the longest pause between looks while a silent one runs
#define LAST_TRY_NS NS_PER_S          // the longest pause between tries to take the bell

// Plans the next look or try. Each pause is twice the pause before it, up to last_ns.
static void again(struct bell *b, int64_t last_ns, int64_t now_ns)
{
    b->every_ns = b->every_ns > 0 ? clock_min(2 * b->every_ns, last_ns) : FIRST_NS;
    b->look_at_ns = now_ns + b->every_ns;
}

void bell_answered(struct bell *b, uint64_t silent_below, int64_t now_ns)
{
    if (silent_below > 0) {
        *b = (struct bell){.step = BELL_OURS, .silent_below = silent_below};
        return;
    }
    b->step = BELL_WANTED;
    again(b, LAST_TRY_NS, now_ns);
}

void bell_looked(struct bell *b, const char *snapshot, int64_t now_ns)
{
    uint64_t xmin = strtoull(snapshot, NULL, 10);

    if (b->step != BELL_OURS)
        return;
    if (xmin >= b->silent_below)
        b->every_ns = b->look_at_ns = 0;
    else
        again(b, LAST_LOOK_NS, now_ns);
}

bool bell_suspects(const struct bell *b, int64_t now_ns)
{
    return b->step == BELL_OURS && b->silent_below > 0 && b->look_at_ns > 0 &&
           b->look_at_ns <= now_ns;
}

void bell_cleared(struct bell *b)
{
    if (b->step == BELL_OURS)
        b->silent_below = 0;
}

int64_t bell_due_ns(const struct bell *b)
{
    return b->look_at_ns > 0 || b->step == BELL_LET_GO ? b->look_at_ns : CLOCK_NEVER;
}
