// The runs of mailproof tune: each pair again and again, until enough is known.
#pragma once

#include "cli/tuning.h"

// Fills in the pairs. ERR_INTERRUPTED after a signal.
MUST_USE bool sweep(struct tuning *t, struct err *e);
