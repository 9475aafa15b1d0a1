// Texts that life.c and life_picture.c share. Internal to this folder.
#pragma once

#include <stddef.h>

#include "report/life.h"

// Returns the outcome of the token's transaction, in words.
const char *life_outcome(const struct ledger *l, uint32_t token);
// Writes when the fault ended, and its evidence.
void life_fault(const struct ledger *l, const struct fault_record *f, char *out, size_t size);
// Writes which process wrote the line, and in what state it arrived.
void life_delivery(const struct ledger *l, const struct delivery *d, char *out, size_t size);
