// Finds and removes the shared memory of a PostgreSQL server that was killed. The kernel keeps this
// memory when the server's processes are gone.
//
// A postmaster makes one small System V segment. Its header names the control segment among the
// POSIX segments /dev/shm/PostgreSQL.*, and the control segment lists the others. A server that
// ends by itself removes all of them, and so does a server that starts again in the same folder.
// When the folder is removed instead, the harness must remove the segments.
#pragma once

#include <sys/types.h>
#include <time.h>

#include "base/base.h"

// A postmaster's pid, and the time (wall clock) in which the pid was its own: from `since` to
// before `until`. Another server may have the pid later.
struct segments_maker {
    pid_t pid;
    time_t since, until;
};

// Removes the memory of one dead postmaster, and only that. These are segments that the pid made in
// its time, that begin as a server's do, and that no process has attached any more. Returns false
// while a process still has one of them attached.
bool segments_remove(const struct segments_maker *maker);

// Returns the size in bytes of all segments of a postmaster together, System V and POSIX. The
// postmaster may still run.
size_t segments_bytes(pid_t postmaster);

// Finds the processes that have a segment of this postmaster attached: the postmaster itself and
// its children, even those with another parent now. Stores at most `max` pids and returns how many.
size_t segments_users(const struct segments_maker *maker, pid_t *pids, size_t max);
