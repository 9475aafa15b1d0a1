// Recorded arrivals: a text file with one time per line, in seconds from the phase's start and
// in ascending order. Text behind a comma and lines that begin with '#' are ignored.
#pragma once

#include "scenario/scenario.h"

// Reads phase->file, relative to the scenario. Afterwards `file` is the name under which a
// result folder keeps the times (trace_write).
MUST_USE bool trace_read(struct load_phase *phase, const char *scenario_path, struct err *e);

// Appends the times in the same format.
bool trace_write(const struct load_phase *phase, struct buf *out);
