// One token's life, told and drawn: from its intended insert to its last delivery, with
// the faults and processes that it met.
#pragma once

#include "base/buf.h"
#include "ledger/ledger.h"

// Calls `tell` for each event: its time on the run's clock, and what happened.
void life_each(const struct ledger *l, uint32_t token,
    void (*tell)(const struct ledger *l, int64_t at_ns, const char *what, void *context),
    void *context);

// "in the database, beyond the cursor, 1 delivery": how it stood at the end.
void life_end(const struct ledger *l, uint32_t token, char *out, size_t size);

// Appends an HTML file with everything inside; false when `out` is full.
bool life_html(const struct ledger *l, uint32_t token, struct buf *out);
