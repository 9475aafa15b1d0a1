// A disk of the cluster's own, whose power can be cut: an ext4 file system in
// an image file, on a loop device.
//
// Cutting the power drops everything that was not flushed: file system blocks
// that were only in memory, and the part of its journal that was not committed.
// That is what a machine does that goes dark; SIGKILL keeps the page cache and
// proves nothing about fsync.
//
// The file system is mounted in a mount namespace of this process and its
// children. When the last of them is gone, however it went, the kernel unmounts
// it and frees the loop device: nothing has to be swept up.
#pragma once

#include <limits.h>
#include <sys/types.h>

#include "base/err.h"

struct disk {
    char image[PATH_MAX];
    char mount[PATH_MAX]; // where it is mounted; belongs to the server's user
    bool mounted;
};

// Makes and mounts a disk in `dir`. ERR_SKIP without root or loop devices. Must
// be called on the main thread, before others are started.
MUST_USE bool disk_make(struct disk *d, const char *dir, uid_t uid, gid_t gid, struct err *e);

// From now on nothing reaches the disk any more; processes on it still run.
MUST_USE bool disk_cut_power(struct disk *d, struct err *e);

// After every process on it has ended: unmounts it, and mounts it again, which
// replays its journal.
MUST_USE bool disk_unmount(struct disk *d, struct err *e);
MUST_USE bool disk_mount(struct disk *d, struct err *e);

// Flushes all that was written so far.
MUST_USE bool disk_flush(const struct disk *d, struct err *e);
