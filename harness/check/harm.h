// Tells for each fault how it harms the subject, and how soon others take over from the instance
// that it hits.
#pragma once

#include "base/clock.h"
#include "plan/plan.h"

enum harm {
    HARM_NONE,    // the fault does not touch the subject
    HARM_SLOWS,   // the subject is slow; processes and sessions survive
    HARM_SESSION, // every session ends
    HARM_FREEZES, // a session may end, or survive
    HARM_PROCESS, // a process ends
    HARM_OUTPUT,  // nobody reads the output
};

enum harm harm_of(const struct scenario *s, const struct fault_spec *f);

static const int64_t harm_takeover_ns = NS_PER_S; // promised time for a takeover, counted from the
                                                  // end of the grace

// harm_grace_ns returns MAILROOM_GRACE. harm_hang_ns returns the time after which others take over
// from a holder that hangs.
int64_t harm_grace_ns(const struct scenario *s);
int64_t harm_hang_ns(const struct scenario *s);

// Returns how long a collector may take to end after its sender has died.
int64_t harm_sender_died_ns(const struct scenario *s);

// True when the fault keeps one of several instances away while the others carry on.
bool harm_hits_one(const struct scenario *s, const struct fault_spec *f);

// Returns within how long after the beginning of such a fault the others must have taken over. When
// all instances were away, the time counts from the return of the first of the others.
int64_t harm_carry_on_ns(const struct scenario *s, const struct fault_spec *f);
