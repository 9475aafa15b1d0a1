// The faults of a plan. Each turn of a repeated fault gets an entry of its own. A fault that cannot
// take effect because another one lasts is marked.
#pragma once

#include "plan/plan.h"

// Adds the scenario's faults in the order of their times and moves the plan's end behind the last.
// Fails when there are more than a plan holds (ERR_USAGE) or without memory.
MUST_USE bool plan_add_faults(struct plan *p, const struct scenario *s, struct err *e);

// Returns whether b cannot begin while a lasts. This is so when both act on the same thing, because
// the end of one would end both. The plan then leaves b out.
bool plan_collide(const struct fault_spec *a, const struct fault_spec *b);

// Returns how long a fault lasts: 0 for a fault without a length, and for one that ends a collector
// for the rest of the run.
int64_t plan_lasts_ns(const struct fault_spec *f);
