#include "timing/bell.h"

#define FIRST_PAUSE_NS NS_PER_MS
#define LOOK_PAUSE_MOST_NS (25 * NS_PER_MS) // between looks while a silent transaction runs
#define TRY_PAUSE_MOST_NS NS_PER_S          // between tries to take the bell

// Plans the next look, or the next try to take the bell. Each pause is twice the one before it, up
// to most_ns.
static void plan_next_look(struct bell *b, int64_t most_ns, int64_t now_ns)
{
    b->pause_ns = b->pause_ns > 0 ? clock_min(2 * b->pause_ns, most_ns) : FIRST_PAUSE_NS;
    b->look_at_ns = now_ns + b->pause_ns;
}

void bell_answered(struct bell *b, uint64_t silent_below, int64_t now_ns)
{
    if (silent_below > 0) {
        *b = (struct bell){.step = BELL_OURS, .silent_below = silent_below};
        return;
    }
    b->step = BELL_WANTED;
    plan_next_look(b, TRY_PAUSE_MOST_NS, now_ns);
}

void bell_looked(struct bell *b, const char *snapshot, int64_t now_ns)
{
    uint64_t xmin = strtoull(snapshot, NULL, 10);

    if (b->step != BELL_OURS)
        return;
    // Transactions that may have been silent have numbers below silent_below. If xmin is not lower,
    // all of them have ended, and the look has seen their tokens.
    if (xmin >= b->silent_below)
        b->pause_ns = b->look_at_ns = 0;
    else
        plan_next_look(b, LOOK_PAUSE_MOST_NS, now_ns);
}

bool bell_should_ask(const struct bell *b, int64_t now_ns)
{
    return b->step == BELL_OURS && b->silent_below > 0 && b->look_at_ns > 0 &&
           b->look_at_ns <= now_ns;
}

void bell_none_silent(struct bell *b)
{
    if (b->step == BELL_OURS)
        b->silent_below = 0; // nobody is left who may have inserted without an announcement
}

int64_t bell_due_ns(const struct bell *b)
{
    // In BELL_LET_GO no announcement may come, so some look is always due: at once if no time is
    // set (look_at_ns is 0).
    return b->look_at_ns > 0 || b->step == BELL_LET_GO ? b->look_at_ns : CLOCK_NEVER;
}
