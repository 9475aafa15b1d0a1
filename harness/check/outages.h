// The time that the plan's faults take from the subject. Each outage lasts from the fault's
// beginning until the subject can work again. The rest is fault-free, and judged.
#pragma once

#include "check/cause.h"
#include "ledger/ledger.h"

struct outage {
    int64_t from_ns;
    int64_t until_ns;     // when the fault is undone or the work taken over, and the next session
                          // open
    int64_t own_until_ns; // the same time for the lines of the hit instance
    int64_t others_ns;    // when others must have taken over from the hit instance; CLOCK_NEVER:
                          // never
    int64_t latest_ns;    // the latest until_ns or own_until_ns of this and all outages before
    int instance;         // the instance that was hit; -1: all
    struct cause cause;   // the fault, or the sender's death
};

// One outage for each hit (hits.h), in the order of their beginning.
struct outages {
    struct outage *items; // owned
    size_t count;
};

MUST_USE bool outages_make(struct outages *o, const struct ledger *l, struct err *e);
void outages_fini(struct outages *o);

// The fault-free part of a stretch of time.
struct fault_free {
    int64_t ns;         // the length of the stretch, without the outages
    size_t faults;      // number of outages that touch the stretch
    struct cause cause; // the outage that took most of it; CAUSE_NONE without one
};

// Returns the fault-free part of a stretch of time for the lines of `instance`; -1: for those of
// any instance.
struct fault_free outages_free(
    const struct outages *o, int instance, int64_t from_ns, int64_t until_ns);

// Returns the first outage of this instance, or of all, that touches a stretch of time, as a cause;
// CAUSE_NONE without one.
struct cause outages_hit(const struct outages *o, int instance, int64_t from_ns, int64_t until_ns);

// Returns the beginning of the latest outage that began at this time or before; INT64_MIN without
// one.
int64_t outages_latest_ns(const struct outages *o, int64_t until_ns);

// True in the middle of an outage, for at least one instance.
bool outages_last(const struct outages *o, int64_t at_ns);

// Returns when `need_ns` of fault-free time have passed since from_ns.
int64_t outages_due_ns(const struct outages *o, int instance, int64_t from_ns, int64_t need_ns);
