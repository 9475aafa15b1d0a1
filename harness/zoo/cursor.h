// The cursor in jobs, which says how far the queue is done. A shared queue has none (sharing.h).
#pragma once

#include "batch.h"
#include "session.h"
#include "settings.h"

// The statement that reads what is not done yet.
const char *cursor_read_sql(enum defect defect);

// The rows of the batch are the past, in one transaction with their dead letters.
bool cursor_move(
    struct session *s, const struct settings *settings, struct batch *b, struct err *e) MUST_USE;

// Defect cursor-back: to where it once was, whoever has moved it since.
bool cursor_move_back(struct session *s, const struct settings *settings, const struct position *to,
    struct err *e) MUST_USE;
