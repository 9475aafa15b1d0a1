// Proves that the server is durable. The setting fsync = on proves nothing when the data directory
// is in memory. So the proof looks at the settings, at the file system of the data directory, and
// at the cost of a flush there.
#pragma once

#include <libpq-fe.h>

#include "postgres/provider.h"

struct durability_proof {
    char filesystem[32]; // such as "ext4"; "" when only the server's settings can be seen
    int64_t fsync_ns;    // cost of one 8 KiB write + fdatasync: the median, or dd's mean
    char settings[160];  // such as "fsync=on full_page_writes=on synchronous_commit=on"
    bool durable;        // true: proved; false: the proof was waived or failed, or the server's
                         // settings were all that could be seen
    char verdict[320];   // the result, as a sentence
};

// A flush that costs less than this has not reached a device. Measured: a volatile overlay and
// tmpfs take 1 µs; disks with a power-safe cache take 10 µs and more.
#define DURABILITY_FSYNC_MIN_NS (4 * INT64_C(1000))

// Fills the proof. Fails with ERR_SKIP when the server would lose acknowledged commits on a power
// cut, or when that cannot be found out, unless the scenario waives the proof. A server of which
// only the settings can be seen (provider url) is accepted by these alone.
MUST_USE bool durability_prove(const struct server *s, PGconn *admin, enum durability want,
    const struct settings *settings, struct durability_proof *proof, struct err *e);

// Finds a file system in lines such as those of /proc/self/mountinfo: that of the last line whose
// device number or mount point is `key`, or else "unknown". *is_volatile: it is a volatile overlay,
// which never flushes.
void durability_find_mount(
    FILE *mounts, const char *key, char *filesystem, size_t size, bool *is_volatile);

// Reads dd's report on `blocks` blocks that were written and flushed one by one, and sets *flush_ns
// to the mean time of one block. False when the report does not tell the time.
MUST_USE bool durability_read_dd(const char *text, int blocks, int64_t *flush_ns);
