// A disk of the cluster's own that can crash. It is a file system (ext4 or xfs) on a loop device on
// a file that mailproof-disk serves through FUSE. So every write and every flush goes through a
// program of ours (harness/disk).
//
// A power cut keeps everything that was flushed and a part of the rest, which the seed chooses
// sector by sector. Data that only the kernel had in memory is gone as well, because the disk takes
// nothing any more. SIGKILL alone would keep the page cache and prove nothing about fsync.
//
// The file system is mounted in a mount namespace of this process and its children. When the last
// of them is gone, however it ended, the kernel unmounts it, frees the loop device and closes its
// connection to mailproof-disk, which then ends.
#pragma once

#include <limits.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"
#include "postgres/local/canary.h"
#include "postgres/local/drive.h"
#include "postgres/local/pages.h"
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
    char mount[PATH_MAX];  // where it is mounted; the folder belongs to the server's user
    struct drive drive;
    struct canary canary;
    struct pages pages;
    enum disk_manner manner;
    const struct disk_filesystem *files;
    enum disk_power power;
    uint64_t seed;      // chooses what each cut keeps
    unsigned cuts;      // number of cuts so far
    int64_t cut_ns;     // when the last of them came
    bool served;        // the device is mounted
    bool mounted;       // the file system is mounted
    bool torn;          // a cut may have come while the file system was being mounted; see
                        // disk_mount
    bool repaired;      // the file system was repaired since the last cut
    char evidence[160]; // the evidence of the last cut, in words
};

#define DISK_INIT                                                                                  \
    {                                                                                              \
        .drive = DRIVE_INIT                                                                        \
    }

// Makes and mounts a disk in `dir`, with the manner and the file system that are
// wanted. ERR_SKIP without root, FUSE, loop devices or the file system's tools. Must be called on
// the main thread, before others are started. Call disk_remove even if it fails.
MUST_USE bool disk_make(struct disk *d, const char *dir, const struct scenario_postgres *want,
    uint64_t seed, struct err *e);

// Flushes all that was written so far. From then on the disk treats flushes as its manner says.
MUST_USE bool disk_settle(struct disk *d, struct err *e);

// Changes pages that recovery will need, with this connection, which it takes. It does nothing to a
// disk that lies.
MUST_USE bool disk_stir(struct disk *d, PGconn *conn, struct err *e);

// Cuts the power, while the server writes the pages that disk_stir has changed, or 5 s later in any
// case: nothing reaches the disk any more. A process that writes or flushes gets no
// answer, and must be killed. disk_off then releases the requests that waited.
MUST_USE bool disk_cut_power(struct disk *d, struct err *e);
MUST_USE bool disk_off(struct disk *d, struct err *e);

// Makes each flush take at least this time; 0: no delay. `delayed` gets the number of flushes that
// were delayed so far.
MUST_USE bool disk_slow_down(struct disk *d, int64_t flush_ns, int64_t *delayed, struct err *e);

// Makes the n-th flush from now fail with EIO; 0: none. `failed` gets the number of flushes that
// failed so far.
MUST_USE bool disk_fail_flush(struct disk *d, int n, int64_t *failed, struct err *e);
MUST_USE bool disk_count_failed(struct disk *d, int64_t *failed, struct err *e);

// disk_fill uses up all the room that is left, and sets `bytes` to its amount; disk_empty gives it
// back.
MUST_USE bool disk_fill(struct disk *d, int64_t *bytes, struct err *e);
MUST_USE bool disk_empty(struct disk *d, struct err *e);

// True when the file system has seen an error and takes no writes any more.
bool disk_is_read_only(const struct disk *d);

// disk_unmount unmounts the file system after every process on it has ended. disk_mount mounts it
// again, which replays its journal. After a cut, disk_mount proves by the canary that the cut took
// effect, and leaves the evidence.
//
// A file system survives power cuts, but mounting ext4 writes a superblock of two sectors in place.
// So the file system is repaired when the disk lies, or when the cut may have torn that write.
MUST_USE bool disk_unmount(struct disk *d, struct err *e);
MUST_USE bool disk_mount(struct disk *d, struct err *e);

// Releases the disk without unmounting it, for a server that is left running. The mount disappears
// with the last process of its namespace.
void disk_keep(struct disk *d);

// Unmounts everything and ends mailproof-disk; accepts a half-made disk.
void disk_remove(struct disk *d);
