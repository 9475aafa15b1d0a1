// The faults that a token met: those that can explain what became of it.
#pragma once

#include "ledger/ledger.h"

struct met {
    int64_t from_ns, until_ns; // on the run's clock
    bool overdue;              // never delivered, or in leased mode without an outcome
};

// Returns the time in which a fault can explain the token: from a second before its intended time
// to its last delivery or answer. For an overdue token it lasts until batch timeout + 2 s later;
// the time of faults is not counted in that.
struct met met_of(const struct ledger *l, uint32_t token);

// True when the fault was active in that time.
bool met_is(const struct met *m, const struct fault_record *f);
