// Watches the other owners of deliveries, and tells which of them are dead or hang. Pure.
//
// An owner whose lock is free has lost its session. It may come back within the grace; when the
// lock has been free for longer, the owner counts as dead. An owner hangs when it holds its lock
// and has something in hand, but has not renewed its lease for as long as a lease lasts. We time
// each owner by our own clock, and a hanging one only while we watch. So no living owner is overdue
// right after an outage, a pause of our own or an idle hour.
#pragma once

#include "base/base.h"

#define OWNERS_MAX 16 // as many as mailroom_peers names

struct owner {
    int64_t number;
    int64_t renewed;  // the counter of its lease, which rises with each renewal
    int64_t since_ns; // when we first saw its lock free; or, while it is alive, when we last saw it
                      // idle, or its lease renewed
    bool alive;       // a session holds the owner's lock
    bool busy;        // the owner is alive and has something in hand
    bool named;       // the present look has named the owner; owners_end_look drops all others
};

#define OWNERS_WATCH_NS INT64_C(1000000000) // looks that are further apart do not count as watching

struct owners {
    int64_t looked_ns; // when we looked last
    int n;
    struct owner all[OWNERS_MAX];
};

// After a look at the database: call owners_note for each owner that it names, then
// owners_end_look.
void owners_note(struct owners *o, struct owner seen, int64_t now_ns);
void owners_end_look(struct owners *o, int64_t now_ns);

// Returns an owner that is dead or hangs, so that we may free what it has in hand; NULL: none.
struct owner *owners_due(struct owners *o, int64_t grace_ns, int64_t lease_ns, int64_t now_ns);

// True when an owner has something in hand, or is gone and may have left something, so that looks
// must go on.
bool owners_need_looks(const struct owners *o);

// Call it when the lines of an owner that may live were freed: its time begins anew.
void owners_freed(struct owners *o, int64_t number, int64_t now_ns);
