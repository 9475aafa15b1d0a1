// The end of the processes: records the exit status and the last words, and decides about the next
// start.
#pragma once

#include "subject/serve.h"

// How long the other processes of a group that was told to end may go on after the command itself
// has ended.
#define EXITS_GRACE_NS (2 * NS_PER_S)

// True when the harness need not wait any longer for a process that ended.
bool exits_may_reap(struct subject *s, struct instance *in);

// Reads what is left of its output, records its end, and decides about the next start.
void exits_reap(struct subject *s, struct instance *in);
