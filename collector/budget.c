#include "budget.h"

#include "base/clock.h"

// A payment for a line that was not begun is lost after this time. On a slow network it takes some
// more trips until the line can be begun.
#define HELD_NS (250 * NS_PER_MS)
#define HELD_TRIPS 4
#define HELD_MOST_NS (2 * NS_PER_S)

void budget_asked(struct budget *b, int64_t now_ns)
{
    b->asked_ns = now_ns;
}

void budget_answered(struct budget *b, int granted, int64_t wait_ms, int64_t now_ns)
{
    if (granted == 0) {
        b->spent_until_ns = now_ns + wait_ms * NS_PER_MS;
        return;
    }
    int held = budget_held(b, now_ns);
    if (held == 0)
        b->lost_ns =
            now_ns + clock_min(HELD_NS + HELD_TRIPS * (now_ns - b->asked_ns), HELD_MOST_NS);
    b->held = held + granted;
}

int budget_held(const struct budget *b, int64_t now_ns)
{
    return now_ns <= b->lost_ns ? b->held : 0;
}

void budget_used(struct budget *b, int tokens)
{
    b->held = tokens < b->held ? b->held - tokens : 0;
}
