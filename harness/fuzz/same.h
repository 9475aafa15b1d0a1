// Compares two scenarios field by field of the grammar's tables. A scenario that is written and
// read again must be equal to the last bit of every number.
#pragma once

#include "scenario/scenario.h"

// Returns the first key that differs; NULL: none does.
const char *same_scenario(const struct scenario *a, const struct scenario *b);
