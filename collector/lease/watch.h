// Tells which other collector's lines may be freed. Pure.
//
// A collector that has lost its lock gets the grace. One that still has its lock but does not renew
// its lease gets the lease time. Both count by our own clock, from what we saw ourselves while
// connected, so neither an outage nor a wrong clock ends anybody's lease.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define WATCH_MAX 64

struct watched {
    int64_t owner;
    int64_t renewed;
    int64_t renewed_ns; // when we first saw its present counter
    int64_t gone_ns;    // since when it has no lock; CLOCK_NEVER: it has one
    uint64_t round;     // the number of the look that saw it last
};

struct watch {
    struct watched others[WATCH_MAX]; // further collectors are watched when there is room
    int count;
    uint64_t round;
    int64_t looked_ns; // when the last look was
};

#define WATCH_NS INT64_C(2000000000) // looks further apart do not count as watching

// Begins a new session: nothing that was seen before counts.
void watch_restart(struct watch *w);

// A look has begun. If we have not looked for a while, we may have been stopped ourselves, and the
// others with us: then all times begin anew. Call watch_seen for each other collector, then
// watch_end, which returns true when a collector that was there has left.
void watch_begin(struct watch *w, int64_t now_ns);
void watch_seen(struct watch *w, int64_t owner, int64_t renewed, bool connected, int64_t now_ns);
bool watch_end(struct watch *w);

// Returns a collector whose lines may be freed, and why; NULL: none. One that has its lock may also
// have nothing to renew its lease for.
const struct watched *watch_expired(
    const struct watch *w, int64_t grace_ns, int64_t lease_ns, int64_t now_ns, const char **why);

// Forgets an owner. If a later look sees it again, its times begin anew.
void watch_forget(struct watch *w, int64_t owner);
