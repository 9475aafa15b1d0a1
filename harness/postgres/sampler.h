// Samples the server and the machine's processors once a second during a run, in a thread and over
// a connection of its own. When the server is away, the sample says so.
#pragma once

#include <stdatomic.h>
#include <sys/types.h>

#include "os/usage.h"
#include "postgres/presence.h"

// One sample. Of the server's counters only the differences between samples mean something; a crash
// sets some of them back.
struct sample {
    int64_t at_ns;
    bool up; // the server answered; if not, the server's own figures are not known
    double commits, wal_bytes, dead_tuples, oldest_xmin_age, checkpoints;
    double queue_usage; // used share of the notification queue, 0 to 1
    int active;         // number of backends with a statement, waiting or not
    double cpu_s[USAGE_GROUPS], busy_s, total_s;
    int64_t collector_rss_kb;
    double collector_fds; // number of open descriptors of the collector's processes
    double server_fds;    // number of open descriptors of the server's processes; 0: not visible
    double shm_bytes;     // the server's shared memory; 0: not visible
    double database_bytes;
    double backends_kb; // memory of the collector's backends, without files and shared memory
    double harness_kb;  // resident memory of this process
};

struct wait_count {
    char event[64]; // such as "LWLock:WALWrite", or "running"
    uint64_t seen;  // number of backends that showed this event, over all samples
};

#define SAMPLER_WAITS_MAX 64

struct sampler_config {
    const char *conninfo; // the superuser's conninfo; copied
    // The pid of the server's first process as we see it, for a server in another pid namespace,
    // such as a container's; 0 while unknown. NULL: the server is in our namespace. It must outlive
    // the sampler.
    const atomic_int *outer_pid;
    const char *collector_role, *load_role;
    // Fills in the pids of the collector's processes, at most max, and returns their number. The
    // sampler's thread calls it; sampler_stop does so once more when that thread has ended.
    size_t (*collectors)(void *arg, pid_t *pids, size_t max);
    void *arg;
};

struct sampler;

// Starts the thread, which connects and, when that fails, tries again with each sample. NULL with
// the reason.
MUST_USE struct sampler *sampler_start(const struct sampler_config *config, struct err *e);

// Joins the thread and takes a last sample. It waits for the server to answer or to be gone, so a
// server that is frozen must be thawed first.
void sampler_stop(struct sampler *s);

// Call these after sampler_stop. A NULL sampler has no samples and no waits.
const struct sample *sampler_samples(const struct sampler *s, size_t *count);
const struct wait_count *sampler_waits(const struct sampler *s, size_t *count);
const struct presence *sampler_presence(const struct sampler *s); // NULL without a sampler
const struct usage *sampler_usage(const struct sampler *s);

// Stops the sampler first. Accepts NULL.
void sampler_free(struct sampler *s);
