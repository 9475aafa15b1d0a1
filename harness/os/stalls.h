// When a loop of the harness stood still: it woke late, or one turn took long.
// Times are taken by somebody else; this only keeps account of them.
#pragma once

#include <stddef.h>
#include <stdint.h>

// A turn that is shorter is work, not a stall.
#define STALLS_LEAST_NS INT64_C(5000000)
#define STALLS_KEPT 256

struct stall {
    int64_t from_ns, until_ns;
};

// Zeroed is empty. One thread writes it.
struct stalls {
    size_t count; // all of them; only the first STALLS_KEPT have their times kept
    int64_t longest_ns;
    int64_t total_ns;
    struct stall kept[STALLS_KEPT];
};

// The loop was to go on at from_ns and went on at until_ns.
void stalls_note(struct stalls *s, int64_t from_ns, int64_t until_ns);
