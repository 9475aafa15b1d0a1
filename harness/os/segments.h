// The shared memory of a PostgreSQL server that was killed: the kernel keeps it
// when the processes are gone.
//
// A postmaster makes one small System V segment. Its header names the control
// segment among the POSIX segments /dev/shm/PostgreSQL.*, and that one lists the
// others. A server that ends by itself removes all of them; a server that starts
// again in the same folder does so too. For a folder that is removed, we must do it.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>
#include <time.h>

// Removes the memory of one dead postmaster, and only that: segments that this
// pid made at `since` (wall clock) or later, that no process has attached any more,
// and that begin as a server's do. False: a process still has one of them attached.
bool segments_remove(pid_t postmaster, time_t since);

// Returns the size in bytes of all segments of a postmaster together, System V and POSIX. It may
// still run.
size_t segments_bytes(pid_t postmaster);

// Finds the processes that have such a segment attached: the postmaster and its children, wherever
// they are. At most max; returns how many.
size_t segments_users(pid_t postmaster, time_t since, pid_t *pids, size_t max);
