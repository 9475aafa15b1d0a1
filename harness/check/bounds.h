// The times that a collector may take after a fault. Each stands in the scenario, or is a promise
// of the reference collector, so it is known before the run.
#pragma once

#include "base/clock.h"
#include "scenario/scenario.h"

static const int64_t bounds_takeover_ns = NS_PER_S; // until another has taken over, from the end of
                                                    // the grace on

// Returns MAILROOM_GRACE: nobody takes over before it has passed.
int64_t bounds_grace_ns(const struct scenario *s);

// Returns the time after which others take over from a holder that hangs.
int64_t bounds_hang_ns(const struct scenario *s);

// Returns how long a collector may take to end after its sender has died.
int64_t bounds_sender_died_ns(const struct scenario *s);

// Returns how long others may need to take over from an instance that such a fault strikes: they
// learn of a death or of a lost session at once, and of a hang when they have not heard of the
// holder for a while.
int64_t bounds_handover_ns(const struct scenario *s, const struct verb *v);

// Returns how long the struck instance may need to return after the end of the fault: it is back
// soon after its session has ended, later when the server refused it, and latest when it heard
// nothing and had to find out by its own timers.
int64_t bounds_return_ns(const struct scenario *s, const struct verb *v);
