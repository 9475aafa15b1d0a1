// Records when a loop of the harness stood still because it woke late or one of its turns took
// long. The caller measures the times.
#pragma once

#include "base/base.h"

// A loop that stands still for less than this is at work and not stalled.
#define STALLS_LEAST_NS INT64_C(5000000)

struct stall {
    int64_t from_ns, until_ns;
};

// A zeroed struct is empty. Only one thread may write it. Its owner calls stalls_fini.
struct stalls {
    size_t count; // number of all stalls; may be more than kept_count, because memory was short or
                  // an old history kept fewer
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
