// Notes on the servers that were started in a workdir, kept in the folder itself: pid, start in
// clock ticks since the boot, and time of day. By them a later run can tell these servers from
// others.
#pragma once

#include <sys/types.h>

#include "base/err.h"

// Writes down that this postmaster was started for the folder.
MUST_USE bool postmasters_note(const char *dir, pid_t pid, struct err *e);

// After a noted postmaster and its children were killed: removes the shared
// memory that they left.
void postmasters_remove_memory(const char *dir, pid_t pid);

// For a folder whose mailproof is gone: kills every noted server that still runs, even one that is
// stopped, and removes the shared memory of all of them. Does the same for servers that others have
// started in a folder below it, as Patroni does.
void postmasters_sweep(const char *dir);

// For a data folder whose server has been killed: removes its shared memory, which the
// lock file in it names. A postmaster of this folder that still runs is killed first,
// with its children. Without a lock file there is nothing to do.
void postmasters_clear(const char *data_dir);
