// Searches for the highest rate that a subject sustains.
#pragma once

#include "field/cells.h"

// Fills in the column of the highest rate, for all subjects that can be asked. A rate is sustained
// when no job of 4 s of load is lost or left 3 s later, and p99 is below a second. False only after
// a signal.
MUST_USE bool rates_fill(struct field_run *f, struct err *e);
