// The harm of each fault by itself, as if no other collector took over: when the subject was hit,
// and when it was back. outages.h adds the takeovers.
#pragma once

#include "check/cause.h"
#include "check/harm.h"
#include "ledger/ledger.h"

struct hit {
    int64_t from_ns;
    int64_t back_ns;     // when the fault is undone and the next session open
    int64_t handed_ns;   // back_ns plus the time that a takeover by another collector may need
    int64_t carry_on_ns; // time that the others may need to take over; CLOCK_NEVER: all are hit
    int instance;        // the instance that is hit; -1: all
    enum harm harm;
    struct cause cause; // the fault, or the sender's death
};

// One hit for each fault that began and touches the subject, and for each sender that died by
// itself, in the order of their beginning.
struct hits {
    struct hit *items; // owned
    size_t count;
};

MUST_USE bool hits_make(struct hits *h, const struct ledger *l, struct err *e);
void hits_fini(struct hits *h);

// Returns the first session that opened at `from_ns` or later; of a burst of sessions, the last
// one. CLOCK_NEVER without one.
int64_t hits_session_ns(const struct ledger *l, int64_t from_ns);
