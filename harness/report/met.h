// Finds the faults that a token met: those that can explain what became of it.
#pragma once

#include "ledger/ledger.h"

// The time, on the run's clock, in which a fault can explain what became of a token.
struct met {
    int64_t from_ns, until_ns;
    bool overdue; // the token was never delivered, or in leased mode never sent, dead or expired
};

// Returns the time in which a fault can explain the token: from a second before its life begins to
// its last delivery or answer. For an overdue token it ends later by the batch timeout and 2 s, in
// which the time under faults does not count; at the latest at the end of the drain.
struct met met_of(const struct ledger *l, uint32_t token);

// True when the fault was active between m->from_ns and m->until_ns.
bool met_includes(const struct met *m, const struct fault_record *f);
