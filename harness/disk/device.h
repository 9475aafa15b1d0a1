// A disk with a volatile cache, kept in an image file. This module decides what happens on each
// write and flush, and how the power is cut. It knows nothing of FUSE; fuse_main.c brings it
// the kernel's requests, commands.c the harness's commands.
//
// The image always holds what the machine would read. The cache remembers which parts of it a power
// cut may take away.
#pragma once

#include "disk/cache.h"

#define DEVICE_IMAGE "disk.img"
#define DEVICE_BASE "base.img"   // of a recording: what was on the platter as it began
#define DEVICE_RECORD "disk.log" // of a recording: see write_log.h

#define DEVICE_WORD_BYTES 16u   // largest length of the word that marks sectors
#define DEVICE_CANARY_BYTES 32u // length of the canary, with which a certain write ends

enum device_power {
    POWER_ON,
    POWER_DARK, // the power is cut: nothing is written any more, and writes and flushes get no
                // answer until the machine is gone
    POWER_OFF,  // the machine is gone: writes that its kernel still sends are answered and ignored
};

enum device_flushing {
    FLUSHING_HONEST,
    FLUSHING_LIES, // a flush is answered, but its writes stay in the volatile cache
};

struct device_counts {
    uint64_t writes, flushes, delayed, failed;
};

struct replay;

struct device {
    int dir, image; // -1: not open
    uint64_t size;
    enum device_power power;
    enum device_flushing flushing;
    struct cache cache;
    int64_t flush_takes_ns;               // delay of each flush; 0: none
    uint64_t fail_in;                     // number of the flush that fails: 1 is the next one; 0:
                                          // none fails
    char canary[DEVICE_CANARY_BYTES + 1]; // the write that ends with this is the canary; "": none
    char canary_in_cache[DEVICE_CANARY_BYTES + 1]; // the canary in the cache, with which the power
                                                   // may be cut; "": none is there
    char word[DEVICE_WORD_BYTES + 1]; // the sectors that contain this word count for `least`
    uint64_t least;                   // the power is cut when this many such sectors and the
                                      // canary are in the cache
    uint64_t word_sectors;            // number of such sectors in the cache
    uint64_t seed;                    // decides what the cut leaves of the cache
    struct device_counts counts;
    FILE *record;          // the open recording; NULL: nothing is recorded
    struct replay *replay; // the running replay; NULL: there is none
};

#define DEVICE_INIT                                                                                \
    {                                                                                              \
        .dir = -1, .image = -1                                                                     \
    }

// Opens the image in the folder, which must exist already and be as long as the disk. *d is
// DEVICE_INIT before.
MUST_USE bool device_open(struct device *d, const char *dir, struct err *e);
void device_close(struct device *d);

enum device_answer {
    DEVICE_DONE,
    DEVICE_FAILED, // answer the request with EIO
    DEVICE_HELD,   // answer the request only when the machine is gone
    DEVICE_LATER,  // the request is done; answer it at *due_ns
};

// Reads from the image. A read is answered even when the power is cut.
MUST_USE bool device_read(struct device *d, uint64_t offset, void *data, size_t length);

// Writes whole sectors. The write that makes the power go is still taken into the cache.
enum device_answer device_write(struct device *d, uint64_t offset, const void *data, size_t length);

// Flushes the cache, or lies about it. Sets *due_ns for DEVICE_LATER.
enum device_answer device_flush(struct device *d, int64_t now_ns, int64_t *due_ns);

// Empties the cache: all writes so far count as being on the platter.
void device_empty_cache(struct device *d);

// Makes the power go as soon as the cache holds the write that ends with `canary` and at least
// `least` sectors that contain `word`. A flush takes them out of the cache, and so do later writes
// that need the room; once the canary is out, the power stays on until the device is armed again.
// `seed` decides what device_power_on leaves of the cache.
void device_arm(
    struct device *d, const char *canary, uint64_t seed, uint64_t least, const char *word);

// Brings the power back. From now on the image holds what the cut left of the cache. *left tells
// how much was not flushed, and how much of that was kept; zeros if the power was on.
MUST_USE bool device_power_on(struct device *d, struct cache_cut *left, struct err *e);

// Begins a recording; a record that is still open ends and is replaced. Copies the image as it
// would be if the whole cache were lost at this moment, and records the writes in the cache and all
// that comes until device_end_record. device_end_record adds one more flush, so that there is also
// a state with the writes after the last real flush in doubt.
MUST_USE bool device_record(struct device *d, struct err *e);
MUST_USE bool device_end_record(struct device *d, struct err *e);

// Writes past the cache. replay.c uses it to put a state onto the image. A cache_put_fn: `file`
// points to the descriptor of the image, or of its copy.
bool device_put(void *file, uint64_t offset, const void *data, uint32_t length);
