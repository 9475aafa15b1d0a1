// The shared memory of a PostgreSQL server that was killed. The kernel keeps this memory when the
// processes are gone.
//
// A postmaster makes one small System V segment. Its header names the control segment among the
// POSIX segments /dev/shm/PostgreSQL.*, and the control segment lists the others. A server that
// ends by itself removes all of them, and so does a server that starts again in the same folder.
// For a folder that is removed, we must do it.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>
#include <time.h>

// A postmaster's pid, and the time (wall clock) in which the pid was its own: from `since` to
// before `until`. Another server may have the pid later.
struct segments_maker {
    pid_t pid;
    time_t since, until;
};

// Removes the memory of one dead postmaster, and only that. It takes segments that its pid made in
// its time, that begin as a server's do, and that no process has attached any more. False: a
// process still has one of them attached.
bool segments_remove(const struct segments_maker *maker);

// Returns the size in bytes of all segments of a postmaster together, System V and POSIX. The
// postmaster may still run.
size_t segments_bytes(pid_t postmaster);

// Finds the processes that have such a segment attached: the postmaster and its children, wherever
// they are. It finds at most max, and returns how many it found.
size_t segments_users(const struct segments_maker *maker, pid_t *pids, size_t max);
