// Measures the CPU time of groups of processes, from /proc. The caller passes the process ids of
// each group once in a while. Time that a process uses after its last round is lost.
#pragma once

#include <sys/types.h>

#include "base/base.h"

enum usage_group {
    USAGE_HARNESS,
    USAGE_COLLECTOR,
    USAGE_COLLECTOR_BACKENDS,
    USAGE_LOAD_BACKENDS,
    USAGE_SERVER, // the server's other processes, backends of further roles among them
    USAGE_GROUPS,
};

#define USAGE_PROCESSES_MAX 1024

// The sums so far. Zero it before the first round.
struct usage {
    double cpu_s[USAGE_GROUPS]; // CPU time of each group since the first round
    double busy_s, total_s;     // busy time and whole time of all processors of the machine since
                                // the first round
    double first_busy_s, first_total_s; // what usage_machine gave in the first round
    int64_t collector_rss_kb; // resident memory of the collector's processes together, at the last
                              // round
    unsigned round;           // number of the present round, from 1
    struct usage_process {
        pid_t pid;
        uint64_t started; // its start, as process_started returns it
        double cpu_s;     // its CPU time at its last round
        unsigned round;   // the last round that had it
    } known[USAGE_PROCESSES_MAX];
    size_t known_count;
};

// Reads the busy time and the whole time of all processors together since the boot. Time that a
// hypervisor took away from this machine counts as busy. False without /proc.
bool usage_machine(double *busy_s, double *total_s);

const char *usage_group_name(enum usage_group group);

// One round is usage_begin, then usage_process for each living process, then usage_end. usage_begin
// itself counts the harness, so the caller passes only the other processes. The time of a process
// that a round leaves out counts in the next round that has it.
void usage_begin(struct usage *u);
void usage_process(struct usage *u, pid_t pid, enum usage_group group);
void usage_end(struct usage *u);

// Returns the share of the whole machine, 0 to 1, that processes outside of all groups used; 0
// before the second round.
double usage_others(const struct usage *u);

// Writes a text such as "processors 97% busy: harness 4%, collector 3%, …, others 20%", in
// shares of the whole machine. Returns `text`.
const char *usage_text(const struct usage *u, char *text, size_t size);
