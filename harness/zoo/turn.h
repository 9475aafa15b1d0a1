// Several collectors take turns: one works and the others stand by. The session that holds a
// certain lock has the turn.
#pragma once

#include <stdbool.h>

#include "base/err.h"
#include "session.h"

// Takes the turn if it is free; *got says whether it was.
bool turn_try(struct session *s, const char *queue, bool *got, struct err *e) MUST_USE;

bool turn_give_back(struct session *s, const char *queue, struct err *e) MUST_USE;

// Returns when it is this session's turn, or after TERM. The collector that had the turn in its
// last session comes back at once. Others give it a moment to do so and to confirm its last line.
bool turn_wait(struct session *s, const char *queue, bool had_it, struct err *e) MUST_USE;
