// The clocks. Times that are compared come from the same clock.
//
// Times are int64_t nanoseconds. Pure modules never read a clock: they take now_ns as an argument,
// so that tests run on a clock of their own.
#pragma once

#include <stdint.h>

#define NS_PER_US INT64_C(1000)
#define NS_PER_MS INT64_C(1000000)
#define NS_PER_S INT64_C(1000000000)

// A deadline that never comes.
#define CLOCK_NEVER INT64_MAX

// Returns CLOCK_MONOTONIC, in nanoseconds since an arbitrary start.
int64_t clock_now_ns(void);

// Like clock_now_ns, but goes on while the machine is suspended, where the system has such a clock.
// Use it to judge how long others had to act, because they may have run while this machine slept.
int64_t clock_boot_ns(void);

// Returns CLOCK_REALTIME, in nanoseconds since 1970, for display and for the times of other
// programs. It may be set back, so no difference of two such times is a duration.
int64_t clock_wall_ns(void);

// Returns the poll(2) timeout that sleeps from now until the deadline: rounded up, so that a loop
// does not spin through the last millisecond. 0: the deadline has passed; -1: it is CLOCK_NEVER.
int clock_poll_ms(int64_t now_ns, int64_t deadline_ns);

static inline int64_t clock_min(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static inline int64_t clock_max(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

// For qsort: compares two times, or two structs whose first member is a time.
int clock_compare(const void *a, const void *b);
