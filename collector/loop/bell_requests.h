// Sends the bell's requests, and deals with the answers. timing/bell.h says what the bell is for.
#pragma once

#include <libpq-fe.h>

#include "base/base.h"

struct collector;

// Call it before each look. Asks for the bell, if it is wanted. If the look is due only because of
// transactions that may have been silent, asks whether one of them has inserted tokens and still
// runs: only then must another look follow.
bool bell_request_take(struct collector *c, struct err *e) MUST_USE;
// Lets the bell go: from here on we look by ourselves.
bool bell_request_let_go(struct collector *c, struct err *e) MUST_USE;
// Lets the bell go if tokens come fast, and plans the next look.
bool bell_request_let_go_if_fast(struct collector *c, struct err *e) MUST_USE;
// True while we do not have the bell, because tokens come fast, and a look is planned instead.
bool bell_request_polls(const struct collector *c);
// Returns when to look without an announcement; 0: at once; CLOCK_NEVER: not at all.
int64_t bell_request_due_ns(const struct collector *c);
// These deal with the answers to the two questions of bell_request_take.
bool bell_request_on_bell(struct collector *c, const PGresult *result, struct err *e) MUST_USE;
bool bell_request_on_silent(struct collector *c, const PGresult *result, struct err *e) MUST_USE;

// Takes the bell where several collectors share it. Call it while our reader takes nothing and we
// do not look, so that producers announce new tokens to the other collectors, which may sleep.
bool bell_request_take_for_others(struct collector *c, struct err *e) MUST_USE;
