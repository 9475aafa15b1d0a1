// The holder of the queue: a name for this process that no other process ever has.
//
//     boot id / pid namespace / pid / start time
//
// A collector that finds another's name in `jobs` leaves it its grace, unless
// the name says that it was a process of this very machine and namespace, and
// that process is gone: a dead process does not come back. So a restarted collector
// begins at once. Where /proc does not tell, the name is a random one, and
// nobody is ever known to be dead; a process that /proc only hides (hidepid) is
// dead when its pid is nobody's.
#pragma once

#include <stdbool.h>

#define HOLDER_LEN 128

void holder_self(char name[HOLDER_LEN]);
bool holder_is_dead(const char *name);
