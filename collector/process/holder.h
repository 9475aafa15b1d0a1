// The holder of the queue: a name for this process that no other process ever has.
//
//     boot id / pid namespace / pid / start time
//
// A collector that finds another's name in `jobs` waits for the grace, in case the other comes
// back. It need not wait when the name belongs to a process of this very machine and namespace that
// no longer exists. So a restarted collector begins at once. Where /proc does not tell, the name is
// random, and no process is ever known to be dead. Where /proc shows no other user's processes
// (hidepid), a process is known to be dead when nobody has its pid.
#pragma once

#include "base/err.h"

#define HOLDER_LEN 128

bool holder_self(char name[HOLDER_LEN], struct err *e) MUST_USE;
bool holder_is_dead(const char *name);
