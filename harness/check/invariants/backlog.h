// Counts how many tokens waited at each time of the run.
#pragma once

#include "check/inside.h"

struct backlog {
    int64_t from_ns, step_ns;
    int32_t *waiting; // owned; waiting[i] is the number of tokens that wait at from_ns + i ×
                      // step_ns
    size_t count;
};

// Counts, until the drain ends, the tokens that are acknowledged and not yet read. It counts only
// tokens that were delivered.
void backlog_make(struct backlog *b, const struct ledger *l);

static inline int64_t backlog_at_ns(const struct backlog *b, size_t i)
{
    return b->from_ns + (int64_t)i * b->step_ns;
}

// Returns the index of the last step at or before a time; the first or the last step for a time
// outside of the array.
size_t backlog_step(const struct backlog *b, int64_t at_ns);
