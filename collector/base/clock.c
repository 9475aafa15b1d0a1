#include "base/clock.h"

#include <limits.h>
#include <time.h>

static int64_t read_clock(clockid_t id)
{
    struct timespec t;

    clock_gettime(id, &t);
    return (int64_t)t.tv_sec * NS_PER_S + t.tv_nsec;
}

int64_t clock_now_ns(void)
{
    return read_clock(CLOCK_MONOTONIC);
}

int64_t clock_boot_ns(void)
{
#ifdef CLOCK_BOOTTIME
    return read_clock(CLOCK_BOOTTIME);
#else
    return read_clock(CLOCK_MONOTONIC);
#endif
}

int64_t clock_wall_ns(void)
{
    return read_clock(CLOCK_REALTIME);
}

int clock_poll_ms(int64_t now_ns, int64_t deadline_ns)
{
    if (deadline_ns == CLOCK_NEVER)
        return -1;
    if (deadline_ns <= now_ns)
        return 0;
    int64_t ms = (deadline_ns - now_ns - 1) / NS_PER_MS + 1;
    return ms > INT_MAX ? INT_MAX : (int)ms;
}

int clock_compare(const void *a, const void *b)
{
    const int64_t *x = a, *y = b;

    return (*x > *y) - (*x < *y);
}
