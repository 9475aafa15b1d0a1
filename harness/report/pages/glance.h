// Shows the run at a glance: what became of each token, beside the life of each process and the
// faults.
//
// The states say what was seen, and not what the verdict makes of it: an invariant may excuse a
// token that came late. So glance_groups tells the number of tokens in a state only if it
// equals the invariant's count.
#pragma once

#include <jansson.h>

#include "report/report.h"

enum glance_state {
    // Nothing had to come (not committed, not eligible or not sendable), or a torn line or a forged
    // delivery names the token.
    GLANCE_NONE,
    GLANCE_DELIVERED, // delivered once, within batch timeout and slack
    GLANCE_LATE,      // delivered once, but later
    GLANCE_TWICE,     // delivered more than once
    GLANCE_MISSING,   // had to come, and was never delivered
    GLANCE_STATES
};

// Returns the tokens, the processes and the groups as the page draws them: of each state but
// GLANCE_NONE all tokens or, if there are more than a few thousand, every second, third … of them.
json_t *glance_json(const struct report *r);

// Appends where in the run the tokens of a broken invariant lie, such as "90 lost in 9 groups, each
// within 10 ms before a kill-collector". Appends nothing for other invariants than lost, duplicated
// and late, and nothing when it cannot tell which tokens the invariant counted.
void glance_groups(const struct report *r, enum metric_id id, struct buf *out);
