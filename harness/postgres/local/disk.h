// A disk of the server's own that can crash. It is a file system (ext4 or xfs) on a loop device on
// a file that mailproof-disk serves through FUSE. So every write and every flush goes through a
// program of ours (harness/disk).
//
// A power cut keeps everything that was flushed and a part of the rest, which the seed chooses
// sector by sector. Data that only the kernel has in memory is lost as well, because the disk
// accepts nothing more. SIGKILL alone would keep the kernel's page cache, and so prove nothing
// about fsync.
//
// The file system is mounted in a mount namespace of this process and its children. When the last
// of these processes is gone, however it ended, the kernel unmounts the file system, frees the loop
// device and closes the connection to mailproof-disk, which then ends.
#pragma once

#include <sys/types.h>

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
    char mount[PATH_MAX];  // where the file system is mounted
    struct drive drive;
    struct canary canary;
    struct pages pages;
    enum disk_manner manner;
    const struct disk_filesystem *files;
    enum disk_power power;
    uint64_t seed;           // chooses what each cut keeps
    unsigned cuts;           // number of cuts so far
    int64_t cut_ns;          // when the last cut came
    bool mounted;            // the file system is mounted
    bool superblock_at_risk; // the last cut may have torn the superblock that a mount had written,
                             // so disk_mount may repair the file system
    bool repaired;           // the file system was repaired at its last mount
    char evidence[160];      // the evidence of the last cut, in words
};

#define DISK_INIT                                                                                  \
    {                                                                                              \
        .drive = DRIVE_INIT                                                                        \
    }

// Makes and mounts a disk in `dir`, with the manner and the file system that are wanted. ERR_SKIP
// without root, FUSE, loop devices or the file system's tools. Call it on the main thread, before
// other threads are started, and call disk_remove even if it fails.
MUST_USE bool disk_make(struct disk *d, const char *dir, const struct scenario_postgres *want,
    uint64_t seed, struct err *e);

// Flushes everything that was written so far. From then on the disk treats flushes as `manner`
// says.
MUST_USE bool disk_settle(struct disk *d, struct err *e);

// Changes pages that recovery will need after a cut (pages.h), over `conn`, which it takes over. On
// a disk that is not honest it changes nothing, because such a disk loses more than parts of pages.
MUST_USE bool disk_dirty_pages(struct disk *d, PGconn *conn, struct err *e);

// disk_cut_power cuts the power while the server writes the pages that disk_dirty_pages has
// changed, or after 5 s at the latest. From then on nothing reaches the disk: a process that writes
// or flushes gets no answer, and must be killed. disk_off then releases the requests that wait for
// an answer.
MUST_USE bool disk_cut_power(struct disk *d, struct err *e);
MUST_USE bool disk_off(struct disk *d, struct err *e);

// Makes each flush take at least flush_ns; 0: no delay. *delayed becomes the number of flushes that
// were delayed so far.
MUST_USE bool disk_slow_down(struct disk *d, int64_t flush_ns, int64_t *delayed, struct err *e);

// disk_fail_flush makes the n-th flush from now fail with EIO; 0: none. Both set *failed to the
// number of flushes that have failed so far.
MUST_USE bool disk_fail_flush(struct disk *d, int n, int64_t *failed, struct err *e);
MUST_USE bool disk_count_failed(struct disk *d, int64_t *failed, struct err *e);

// disk_fill uses up all the room that is left, and sets *bytes to how much that was. disk_empty
// frees it again.
MUST_USE bool disk_fill(struct disk *d, int64_t *bytes, struct err *e);
MUST_USE bool disk_empty(struct disk *d, struct err *e);

// True when the file system takes no writes any more, because it has seen an error.
bool disk_is_read_only(const struct disk *d);

// disk_unmount unmounts the file system. Every process that uses the file system must have ended.
// disk_mount mounts it again, which replays its journal. After a cut, disk_mount proves by the
// canary that the cut took effect, and writes the evidence.
//
// A file system should survive power cuts, but mounting ext4 writes a superblock of two sectors in
// place. So after a cut, a file system that cannot be mounted is repaired if the disk is not
// honest, or if the cut may have torn that write; otherwise disk_mount fails.
MUST_USE bool disk_unmount(struct disk *d, struct err *e);
MUST_USE bool disk_mount(struct disk *d, struct err *e);

// Releases the disk without unmounting it, for a server that is left running. The mount disappears
// with the last process of its namespace.
void disk_keep(struct disk *d);

// Unmounts everything and ends mailproof-disk; accepts a half-made disk.
void disk_remove(struct disk *d);
