// Names this process, as the holder of a queue, by a name that no other process ever has.
//
//     boot id / pid namespace / pid / start time
//
// A collector that finds another's name in `jobs` waits for the grace, in case the other comes
// back. It need not wait when the name belongs to a process of this very machine and pid namespace
// that no longer exists; so a restarted collector begins at once. Where /proc does not tell what a
// name needs, our name is random, and no process is ever known to be dead. Where /proc hides other
// users' processes (hidepid), a process is known to be dead when no process has its pid.
#pragma once

#include "base/base.h"

#define HOLDER_LEN 128

// Writes the name of this process.
bool holder_self(char name[HOLDER_LEN], struct err *e) MUST_USE;
// True when the process of this name is known to have ended.
bool holder_is_dead(const char *name);
