// The questions of `mailproof field`, as one table: a column each.
#pragma once

#include "field/experiment.h"

extern const struct question questions[];
extern const size_t question_count;

extern const struct question *const question_paced; // a load without a fault
extern const struct question *const question_burst; // a short load, to find the highest rate
