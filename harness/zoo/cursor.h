// The cursor in the table jobs: the tokens up to it are done. On a shared queue these tokens are
// claimed or done (sharing.h).
#pragma once

#include "batch.h"
#include "session.h"
#include "settings.h"

// Returns the statement that reads the tokens behind the cursor.
const char *cursor_read_sql(enum defect defect);

// Moves the cursor past the rows of the batch, in one transaction with their dead letters.
bool cursor_move(
    struct session *s, const struct settings *settings, struct batch *b, struct err *e) MUST_USE;

// Defect overlaps: moves the cursor back by thirty tokens.
bool cursor_overlap(struct session *s, const struct settings *settings, struct err *e) MUST_USE;

// Defect cursor-back: puts the cursor where it once was, even if another collector has moved it
// since.
bool cursor_move_back(struct session *s, const struct settings *settings, const struct position *to,
    struct err *e) MUST_USE;
