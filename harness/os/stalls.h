// Records when a loop of the harness stood still: it woke late, or one turn took long. The caller
// measures the times.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// A turn that is shorter is work, not a stall.
#define STALLS_LEAST_NS INT64_C(5000000)

struct stall {
    int64_t from_ns, until_ns;
};

// Zeroed is empty. One thread writes it; its owner calls stalls_fini.
struct stalls {
    size_t count; // all stalls; `kept` has fewer without memory, or in an old history
    int64_t longest_ns;
    int64_t total_ns;
    struct stall *kept; // in the order of time
    size_t kept_count;
};

// Notes that the loop should have gone on at from_ns and went on at until_ns.
void stalls_note(struct stalls *s, int64_t from_ns, int64_t until_ns);

// Adds a stall to those that are kept, without counting it; false without memory.
bool stalls_keep(struct stalls *s, struct stall stall);

void stalls_fini(struct stalls *s);
