// Notes on the servers that were started in a workdir. The folder itself keeps the notes: pid,
// start in clock ticks since the boot, and time of day. With these a later run can distinguish
// these servers from others.
#pragma once

#include <sys/types.h>

#include "base/err.h"

// Notes that this postmaster was started for the folder.
MUST_USE bool postmasters_note(const char *dir, pid_t pid, struct err *e);

// Removes the shared memory that a noted postmaster left. Call it after the postmaster and its
// children were killed.
void postmasters_remove_memory(const char *dir, pid_t pid);

// Ends all servers of a folder whose mailproof is gone. Kills every noted server that still runs,
// even one that is stopped, if it runs as this user, and removes the shared memory of all of them.
// It treats servers that others started in a folder below in the same way, such as Patroni's.
void postmasters_sweep(const char *dir, uid_t user);

// Removes the shared memory of a data folder's server that was killed. The lock file in the folder
// names that memory; without a lock file there is nothing to do. If a postmaster of this folder
// still runs, it is killed first, with its children.
void postmasters_clear(const char *data_dir);
