// Records when a loop of the harness stood still: it woke late, or one turn took long. The caller
// measures the times.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// A shorter turn of a loop is work, and not a stall.
#define STALLS_LEAST_NS INT64_C(5000000)

struct stall {
    int64_t from_ns, until_ns;
};

// A zeroed struct is empty. One thread writes it; its owner calls stalls_fini.
struct stalls {
    size_t count; // number of all stalls; kept_count is smaller when memory was short, or in an old
                  // history
    int64_t longest_ns;
    int64_t total_ns;
    struct stall *kept; // owned; in the order of time
    size_t kept_count;
};

// Notes a stall: the loop should have gone on at from_ns and went on at until_ns.
void stalls_note(struct stalls *s, int64_t from_ns, int64_t until_ns);

// Adds a stall to those that are kept, but does not count it; false without memory.
bool stalls_keep(struct stalls *s, struct stall stall);

void stalls_fini(struct stalls *s);
