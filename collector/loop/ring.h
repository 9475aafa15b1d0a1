// Sends the bell's requests, and deals with the answers. bell.h says what the bell is for.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include <libpq-fe.h>

#include "base/err.h"

struct collector;

// Call it before each look. Asks for the bell, if it is wanted; or asks whether a transaction that
// may have been silent still runs, so that another look must follow.
bool ring_take(struct collector *c, struct err *e) MUST_USE;
// Lets the bell go: from here on we look by ourselves.
bool ring_let_go(struct collector *c, struct err *e) MUST_USE;
// Lets the bell go if tokens come fast, and plans the next look.
bool ring_let_go_if_fast(struct collector *c, struct err *e) MUST_USE;
// True while we do not have the bell, because tokens come fast, and a look is planned instead.
bool ring_polls(const struct collector *c);
// Returns when to look without an announcement; 0: at once; CLOCK_NEVER: not at all.
int64_t ring_due_ns(const struct collector *c);
// These deal with the answers to the two questions of ring_take.
bool ring_on_bell(struct collector *c, const PGresult *result, struct err *e) MUST_USE;
bool ring_on_silent(struct collector *c, const PGresult *result, struct err *e) MUST_USE;

// Takes the bell where several collectors share it. Call it while our reader takes nothing and we
// do not look, so that producers announce new tokens to the other collectors, which may sleep.
bool ring_take_for_others(struct collector *c, struct err *e) MUST_USE;
