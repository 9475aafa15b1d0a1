// Watches how long processes of a run are ready to run and have no processor. The kernel counts it
// for each thread: the second number of /proc/PID/task/TID/schedstat. A thread of its own looks
// twenty times a second, because a collector or a backend may live for less than a second.
#pragma once

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"

// What has happened since the watch began. All of it grows from sample to sample.
struct starved_sample {
    int64_t at_ns;
    // The collector's time without a processor: for each look, the wait of the thread that waited
    // longest, that of the backend that waited longest, and that of the disk. A backend that reads
    // or flushes waits for the disk.
    uint64_t collector_us;
    uint64_t own_us;  // that the collector, all below it and its backends ran
    uint64_t busy_us; // that all processors of the machine ran
    uint64_t load_us; // that the load's backends together had no processor
    uint64_t load_ran_us;
};

struct starved_config {
    // The collector's processes, at most max; called from two threads, one after the other.
    size_t (*collectors)(void *arg, pid_t *pids, size_t max);
    void *arg;
    const char *collector_role, *load_role; // whose backends; outlive the watch
    const char *disk; // the name of the program below ours that may serve the server's disk
    // The pid of a server's first process that is not below ours, 0 while unknown; NULL: there is
    // none. Outlives the watch.
    const atomic_int *server;
};

struct starved;

// Copies the configuration.
MUST_USE struct starved *starved_start(const struct starved_config *config, struct err *e);

// Joins the thread and takes a last sample.
void starved_stop(struct starved *s);

// Call it after starved_stop. The watch owns the samples.
const struct starved_sample *starved_samples(const struct starved *s, size_t *count);

// Accepts NULL; stops first.
void starved_free(struct starved *s);
