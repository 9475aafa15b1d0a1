// The times that a collector may take after a fault. Each stands in the scenario, or is a promise
// of the reference collector, so it is known before the run.
#pragma once

#include "scenario/scenario.h"

static const int64_t bounds_takeover_ns = NS_PER_S; // time for a takeover, after the grace

// Time in which a collector must end after TERM, or after its sender has died: it gives back what
// is unanswered in both cases. The grace of the others begins only with that end.
static const int64_t bounds_ending_ns = NS_PER_S;

// Returns MAILROOM_GRACE: how long after a collector is gone another may take over.
int64_t bounds_grace_ns(const struct scenario *s);

// Returns how long a holder must hang before others may take over from it: until its lease is over
// or, if that is earlier, until its own health check has waited in vain for an answer.
int64_t bounds_hang_ns(const struct scenario *s);

// Returns how long others may need to take over from an instance that a fault of this verb struck.
// They learn of a death or of a lost session at once, but of a hang only after bounds_hang_ns.
int64_t bounds_handover_ns(const struct scenario *s, const struct verb *v);

// Returns how long the struck instance may need to return after the end of the fault. It needs
// least when its session was ended, longer when no new session could be opened, and longest when it
// was not told and had to find out by its own timers. 0 when only its reader was hit.
int64_t bounds_return_ns(const struct scenario *s, const struct verb *v);
