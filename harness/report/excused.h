// Tells what a verdict does not rest on: how much time faults may excuse and how much of it was
// used, how much of each invariant was judged, and what was never judged. A pass has such gaps,
// too.
#pragma once

#include "report/report.h"

// Appends these facts as lines, each with a line end. An invariant has a line when less than
// `share` of it was judged; with 1, when any part of it was excused.
void excused_lines(const struct report *r, double share, struct buf *out);

// True for an invariant of the run of which no part could be judged: all was excused, or there was
// nothing to judge. It counts neither as holding nor as broken or in doubt.
bool excused_whole(const struct report *r, enum metric_id id);
