// Notes on the servers that were started in a workdir, so that a later run can end them and can
// tell them from other servers. A note is a line in a file of that folder: the pid, its start in
// clock ticks since the boot, and the time of day.
#pragma once

#include <sys/types.h>

#include "base/base.h"

// Notes in a run's folder that this postmaster was started for the run.
MUST_USE bool postmasters_note(const char *dir, pid_t pid, struct err *e);

// Removes the shared memory that a noted postmaster left. Call this after the postmaster and its
// children were killed.
void postmasters_remove_memory(const char *dir, pid_t pid);

// Ends all servers of a folder whose mailproof is gone. Kills every noted server of this user that
// still runs or was stopped by SIGSTOP, and removes the shared memory of all noted servers. Does
// the same with each server that a lock file in a folder below names: Patroni's have no note.
void postmasters_sweep(const char *dir, uid_t user);

// Removes the shared memory of a data folder's server that was killed. The lock file in the folder
// names that memory; without a lock file there is nothing to do. If a postmaster of this folder
// still runs, it is killed first, with its children.
void postmasters_clear(const char *data_dir);
