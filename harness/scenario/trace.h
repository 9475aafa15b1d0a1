// Recorded arrivals: a text file with one time per line, in seconds from the
// phase's start, none before the one above it. What follows a comma is not
// looked at, nor is a line that begins with '#'.
#pragma once

#include "scenario/scenario.h"

// Reads phase->file, which is looked for beside the scenario. Afterwards `file`
// is the name under which a result folder keeps the times (trace_write).
MUST_USE bool trace_read(struct load_phase *phase, const char *scenario_path, struct err *e);

// The times as such a file.
bool trace_write(const struct load_phase *phase, struct buf *out);
