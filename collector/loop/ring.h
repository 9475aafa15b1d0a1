// The bell's requests; bell.h says what it is for.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include <libpq-fe.h>

#include "base/err.h"

struct collector;

// To be called before each look. Takes the bell, if it is to be taken now; or asks whether the look
// must be made again.
bool ring_take(struct collector *c, struct err *e) MUST_USE;
// Lets the bell go: from here on we look by ourselves.
bool ring_let_go(struct collector *c, struct err *e) MUST_USE;
// Lets the bell go if tokens come fast, and plans the next look.
bool ring_let_go_if_fast(struct collector *c, struct err *e) MUST_USE;
// True while the bell is let go and the planned look has not come.
bool ring_rests(const struct collector *c);
int64_t ring_due_ns(const struct collector *c);
bool ring_on_bell(struct collector *c, const PGresult *result, struct err *e) MUST_USE;
bool ring_on_silent(struct collector *c, const PGresult *result, struct err *e) MUST_USE;

// Call this when we shall not look for a while: other sleeping collectors must hear of new tokens.
bool ring_keep(struct collector *c, struct err *e) MUST_USE;
