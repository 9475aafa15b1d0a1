// Reads and writes recorded arrivals: a text file with one time per line, in seconds from the
// phase's start and in ascending order. Text after a comma and lines that begin with '#' are
// ignored.
#pragma once

#include "scenario/scenario.h"

// Reads phase->file, whose path is relative to the scenario's folder. Afterwards phase->file is the
// name under which a result folder keeps the times (trace_write).
MUST_USE bool trace_read(struct load_phase *phase, const char *scenario_path, struct err *e);

// True for a name that trace_read gives to a phase's file.
bool trace_is_name(const char *file);

// Appends the times of a phase in the same format. False when `out` has failed.
bool trace_write(const struct load_phase *phase, struct buf *out);
