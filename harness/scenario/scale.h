// --scale: the same scenario with a shorter or longer load.
#pragma once

#include "scenario/scenario.h"

// Multiplies the length of the load and the times of the faults. A fault's period stays: the
// collector has as long as before to recover from each, and there are fewer or more of them. A
// fault lasts no longer than before, because it must end before the next one.
MUST_USE bool scale_scenario(struct scenario *s, double scale, struct err *e);
