// The bell's requests; bell.h says what it is for.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include <libpq-fe.h>

#include "base/err.h"

struct collector;

bool ring_take(struct collector *c, struct err *e) MUST_USE;   // if it is to be taken now
bool ring_let_go(struct collector *c, struct err *e) MUST_USE; // we look by ourselves
// The same while tokens come fast, with a time for the next look.
bool ring_let_go_if_fast(struct collector *c, struct err *e) MUST_USE;
bool ring_rests(const struct collector *c); // with the bell let go, until that look
int64_t ring_due_ns(const struct collector *c);
bool ring_on_bell(struct collector *c, const PGresult *result, struct err *e) MUST_USE;

// We shall not look for a while: others that sleep must hear of what comes.
bool ring_keep(struct collector *c, struct err *e) MUST_USE;
