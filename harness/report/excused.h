// What a verdict does not rest on: what faults excused and how much of that was used, how much of
// each invariant was judged, and what was never judged. A pass has it, too.
#pragma once

#include "report/report.h"

// Appends the lines, each with a line end. An invariant is told when less than `share` of it was
// judged; 1: when anything of it was excused.
void excused_lines(const struct report *r, double share, struct buf *out);

// True when nothing of an invariant was judged, so it neither holds nor is broken.
bool excused_whole(const struct report *r, enum metric_id id);
