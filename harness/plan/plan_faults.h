// The faults of a plan: each time of a repeated one is written out, and those that cannot take
// effect because another one lasts are marked.
#pragma once

#include "plan/plan.h"

// Adds the scenario's faults in the order of their times and moves the plan's end behind the last.
// Errors: more than a plan holds (ERR_USAGE), no memory.
MUST_USE bool plan_add_faults(struct plan *p, const struct scenario *s, struct err *e);

// Returns whether b cannot begin while a lasts, because both act on the same thing: the end of one
// would end both. The plan then leaves b out.
bool plan_collide(const struct fault_spec *a, const struct fault_spec *b);

// Returns how long a fault lasts. A fault without a length lasts 0, and so does one that ends a
// collector for the rest of the run.
int64_t plan_lasts_ns(const struct fault_spec *f);
