// Which other collector's lines may be freed? (pure)
//
// One that has lost its lock gets the grace; one that still has it but does not
// renew its lease, the lease. Both are counted by our own clock from what we saw
// ourselves while connected: neither an outage nor a wrong clock ends anybody's
// lease.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define WATCH_MAX 64

struct watched {
    int64_t owner;
    int64_t renewed;
    int64_t renewed_ns; // when we first saw that count
    int64_t gone_ns;    // since when it has no lock; CLOCK_NEVER: it has
    uint64_t round;     // of the look that saw it last
};

struct watch {
    struct watched others[WATCH_MAX]; // those beyond are watched when there is room
    int count;
    uint64_t round;
};

// A new session: nothing that was seen before counts.
void watch_restart(struct watch *w);

// A look has begun; watch_seen follows for each other collector, then watch_end.
void watch_begin(struct watch *w);
void watch_seen(struct watch *w, int64_t owner, int64_t renewed, bool connected, int64_t now_ns);
void watch_end(struct watch *w);

// One whose lines may be freed, and why; 0: nobody's.
int64_t watch_expired(
    const struct watch *w, int64_t grace_ns, int64_t lease_ns, int64_t now_ns, const char **why);

// It was freed.
void watch_forget(struct watch *w, int64_t owner);
