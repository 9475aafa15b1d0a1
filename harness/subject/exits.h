// The end of the processes: the exit status, the last words, and the next start.
#pragma once

#include "subject/serve.h"

// How long the others of a group that was told to end may go on after the command itself.
#define EXITS_GRACE_NS (2 * NS_PER_S)

// True when the process that ended need not be waited for any longer.
bool exits_may_reap(struct subject *s, struct instance *in);

// Reads what is left of its output, records its end, and decides about the next start.
void exits_reap(struct subject *s, struct instance *in);
