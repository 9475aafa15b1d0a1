// Adds the faults to a plan. Each repetition of a repeated fault gets an entry of its own. A fault
// that cannot take effect, because an earlier one still lasts then, is marked (`busy` of struct
// plan_fault).
#pragma once

#include "plan/plan.h"

// Adds the scenario's faults, sorted by time, and moves the plan's end_ns to the end of the last
// fault if that is later. Fails with ERR_USAGE when there are more than PLAN_FAULTS_MAX, or without
// memory.
MUST_USE bool plan_add_faults(struct plan *p, const struct scenario *s, struct err *e);

// True when b cannot begin while a lasts: a has taken hold of a thing that b takes or wants (enum
// verb_thing), so the end of one would also end the other. The plan then leaves b out.
bool plan_collide(const struct fault_spec *a, const struct fault_spec *b);

// Returns how long a fault lasts: 0 for one that takes an instant, and for one that ends a
// collector for the rest of the run (FOR_REST).
int64_t plan_lasts_ns(const struct fault_spec *f);
