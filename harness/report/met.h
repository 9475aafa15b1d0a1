// The faults that a token met: those that can explain what became of it.
#pragma once

#include "ledger/ledger.h"

struct met {
    int64_t from_ns, until_ns; // on the run's clock
    bool overdue; // it never came, or in leased mode to no end: until_ns is when it was overdue
};

// Finds what the token met from a second before the token's intended time to its last delivery or
// answer. For a token that never came, to 2 s beyond the batch timeout, where the time of faults
// does not count.
struct met met_of(const struct ledger *l, uint32_t token);

bool met_is(const struct met *m, const struct fault_record *f);
