// A disk of the cluster's own that can crash: a file system (ext4 or xfs) on a loop device
// on a file that mailproof-disk serves through FUSE, so that every write and every
// flush goes through a program of ours (harness/disk).
//
// A power cut keeps what was flushed and a seeded choice of the rest, sector by
// sector. What the kernel had only in memory is gone as well: the disk takes
// nothing any more. SIGKILL alone keeps the page cache and proves nothing about
// fsync.
//
// The file system is mounted in a mount namespace of this process and its
// children. When the last of them is gone, however it went, the kernel unmounts
// it, frees the loop device and lets go of mailproof-disk, which then ends.
#pragma once

#include <limits.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"
#include "postgres/canary.h"
#include "postgres/drive.h"
#include "scenario/scenario.h"

enum disk_power {
    DISK_ON,
    DISK_DARK, // the power is cut, and requests wait for an answer
    DISK_OFF,  // the waiting requests were released
};

struct disk_filesystem;
struct server_user;

struct disk {
    char image[PATH_MAX];
    char device[PATH_MAX]; // the file that mailproof-disk serves
    char mount[PATH_MAX];  // where it is mounted; belongs to the server's user
    struct drive drive;
    struct canary canary;
    enum disk_manner manner;
    const struct disk_filesystem *files;
    enum disk_power power;
    uint64_t seed;      // draws what each cut keeps
    unsigned cuts;      // how many cuts there were so far
    bool served;        // the device is mounted
    bool mounted;       // the file system is mounted
    bool torn;          // a cut may have come while it was being mounted; see disk_mount
    bool repaired;      // its file system was repaired since the last cut
    char evidence[160]; // the evidence of the last cut, in words
};

#define DISK_INIT                                                                                  \
    {                                                                                              \
        .drive = DRIVE_INIT                                                                        \
    }

// Makes and mounts a disk for `owner` in `dir`, with the manner and the file system that are
// wanted. ERR_SKIP without root, FUSE, loop devices or the file system's tools. Must be called on
// the main thread, before others are started. Call disk_remove even if it fails.
MUST_USE bool disk_make(struct disk *d, const char *dir, const struct scenario_postgres *want,
    uint64_t seed, const struct server_user *owner, struct err *e);

// Flushes all that was written so far. From now on the disk treats flushes as its manner says.
MUST_USE bool disk_settle(struct disk *d, struct err *e);

// From now on nothing reaches the disk any more. A process that writes or flushes gets no answer,
// and must be killed. disk_off then releases its requests.
MUST_USE bool disk_cut_power(struct disk *d, struct err *e);
MUST_USE bool disk_off(struct disk *d, struct err *e);

// Delays each flush to at least this time; 0: no delay. `delayed` gets how many have been delayed
// so far.
MUST_USE bool disk_slow_down(struct disk *d, int64_t flush_ns, int64_t *delayed, struct err *e);

// The n-th flush from now fails with EIO; 0: none does. `failed` gets how many have
// failed so far.
MUST_USE bool disk_fail_flush(struct disk *d, int n, int64_t *failed, struct err *e);
MUST_USE bool disk_count_failed(struct disk *d, int64_t *failed, struct err *e);

// disk_fill takes all the room that is left, and `bytes` gets how much; disk_empty gives it back.
MUST_USE bool disk_fill(struct disk *d, int64_t *bytes, struct err *e);
MUST_USE bool disk_empty(struct disk *d, struct err *e);

// True when the file system has seen an error and takes no writes any more.
bool disk_is_read_only(const struct disk *d);

// After every process on it has ended: unmounts it, and mounts it again, which replays its journal.
// After a cut, mounting it proves by the canary that the cut took effect, and leaves the evidence.
// A file system survives power cuts, but mounting ext4 writes a superblock of two sectors in place.
// So the file system is repaired when the disk lies, or when the cut may have torn that write.
MUST_USE bool disk_unmount(struct disk *d, struct err *e);
MUST_USE bool disk_mount(struct disk *d, struct err *e);

// Releases the disk without unmounting it, for a server that is left running: it disappears with
// the last process of its namespace.
void disk_keep(struct disk *d);

// Unmounts everything and ends mailproof-disk; accepts a half-made disk.
void disk_remove(struct disk *d);
