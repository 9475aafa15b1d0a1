#include "pace.h"

#include <math.h>

#include "base/clock.h"

// See pace.h for where these come from.
#define MEMORY 2   // × least: in which the weights fade by e
#define BUSY 3     // a count from which the window waits
#define SILENCE 12 // × the mean gap: the line fires
#define CALM 16    // × least: the window waits no more

void pace_init(struct pace *p, int64_t least_ns)
{
    *p = (struct pace){.least_ns = least_ns};
}

void pace_arrived(struct pace *p, int64_t now_ns)
{
    if (p->least_ns == 0)
        return;
    double memory_ns = MEMORY * (double)p->least_ns;
    int64_t gap_ns = now_ns - p->last_ns;

    if (gap_ns >= CALM * p->least_ns)
        p->busy = false;
    p->count = p->count * exp(-(double)gap_ns / memory_ns) + 1;
    p->busy = p->busy || p->count >= BUSY;
    p->quiet_ns = (int64_t)(SILENCE * memory_ns / p->count);
    if (p->quiet_ns < p->least_ns)
        p->quiet_ns = p->least_ns;
    p->last_ns = now_ns;
}

int64_t pace_due_ns(const struct pace *p, int64_t first_ns, int64_t timeout_ns)
{
    if (p->least_ns == 0)
        return first_ns + timeout_ns;
    if (!p->busy || p->last_ns + p->quiet_ns < first_ns)
        return first_ns;
    return clock_min(first_ns + timeout_ns, p->last_ns + p->quiet_ns);
}
