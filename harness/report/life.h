// Tells one token's life as text and as a picture: from its intended insert to its last delivery,
// with the faults and processes that it met. In leased mode the life also has each attempt with its
// answer, and the outcome that the collector has recorded.
#pragma once

#include "ledger/ledger.h"

// Receives one event: its time on the run's clock, and what happened.
typedef void life_tell(const struct ledger *l, int64_t at_ns, const char *what, void *context);

// Calls `tell` for each event, in the order of their times.
void life_each(const struct ledger *l, uint32_t token, life_tell *tell, void *context);

// Writes the token's state at the end, such as "in the database, beyond the cursor, 1 delivery". In
// leased mode the text also says what the database has recorded: "recorded: sent after 2 attempts".
void life_end(const struct ledger *l, uint32_t token, char *out, size_t size);

// Appends an HTML page of the token's life, which needs no other file. False when `out` is full.
MUST_USE bool life_html(const struct ledger *l, uint32_t token, struct buf *out);

// --- texts that the pages use as well -------------------------------------------------

// Returns the outcome of the token's transaction, in words.
const char *life_outcome(const struct ledger *l, uint32_t token);
// Writes the fault's name, when it ended, and its evidence.
void life_fault(const struct ledger *l, const struct fault_record *f, char *out, size_t size);
// Writes which process wrote the line of the delivery, whether the line is torn, and whether the
// token is forged or, in a torn line, only named.
void life_delivery(const struct ledger *l, const struct delivery *d, char *out, size_t size);
