// The runs of mailproof tune: each pair is repeated until enough is known about it.
#pragma once

#include "tune/tuning.h"

// Runs the pairs and fills in their figures. ERR_INTERRUPTED after a signal.
MUST_USE bool sweep(struct tuning *t, struct err *e);
