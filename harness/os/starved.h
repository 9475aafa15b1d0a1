// Watches how long processes of a run are ready to run but get no processor. The kernel counts this
// time for each thread, as the second number of /proc/PID/task/TID/schedstat. The watch has a
// thread that looks twenty times a second, because a collector or a backend may live for less than
// a second.
#pragma once

#include <stdatomic.h>
#include <sys/types.h>

#include "base/base.h"

// Sums since the watch began, so they never fall from sample to sample.
struct starved_sample {
    int64_t at_ns;
    // The collector's time without a processor. Each look adds the longest wait of a thread of the
    // collector, the longest wait of one of its backends, and the longest wait of the program that
    // serves the disk, because a backend that reads or flushes waits for that program.
    uint64_t collector_us;
    uint64_t own_us;      // CPU time of the collector, its descendants and its backends
    uint64_t busy_us;     // busy time of all processors of the machine
    uint64_t load_us;     // sum of the times for which the load's backends had no processor
    uint64_t load_ran_us; // CPU time of the load's backends
};

struct starved_config {
    // Finds the collector's processes, at most max. It is called by the watch's thread, and by
    // starved_stop when that thread has ended.
    size_t (*collectors)(void *arg, pid_t *pids, size_t max);
    void *arg;
    const char *collector_role, *load_role; // the roles whose backends count; must outlive the
                                            // watch
    const char *disk; // name of the program that may serve the server's disk; it is a descendant of
                      // this process
    // For a server whose processes are no descendants of this one: the pid of its first process; 0
    // while it is unknown. NULL: there is no such server. It must outlive the watch.
    const atomic_int *server;
};

struct starved;

// Starts the watch. The configuration is copied.
MUST_USE struct starved *starved_start(const struct starved_config *config, struct err *e);

// Joins the thread and takes a last sample.
void starved_stop(struct starved *s);

// Returns all samples, and sets *count. Call this after starved_stop. The watch owns the samples.
const struct starved_sample *starved_samples(const struct starved *s, size_t *count);

// Stops the watch first. Accepts NULL.
void starved_free(struct starved *s);
