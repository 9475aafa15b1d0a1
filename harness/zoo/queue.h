// The queue in the database: its cursor, who claims what, and whose turn it is.
//
// The tokens up to the cursor in the table jobs are done. On a shared queue they are claimed or
// done.
#pragma once

#include "base/err.h"
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

// --- shared by any number ------------------------------------------------------------

// A queue that any number of collectors share (MAILROOM_DEQUEUE=shared). A collector moves the
// cursor, records the rows that it claims in `deliveries`, writes the line, and then deletes its
// record. The claims of a collector that is gone for longer than the grace belong to nobody.

struct sharing {
    const struct settings *settings;
    enum defect defect;
    char number[24];       // identifies this process as the owner of its claims
    char gone[512];        // the owners that are gone, as an array in the server's text format
    int64_t gone_since_ns; // since when `gone` has not changed
    int64_t asked_ns;      // when we last asked which owners are gone
};

void sharing_init(struct sharing *sh, const struct settings *settings, enum defect defect);

// Takes the locks in a new session. A collector without them may claim nothing.
bool sharing_join(struct sharing *sh, struct session *s, struct err *e) MUST_USE;

// Gives back our claims. Do not call it between writing a line and marking it.
bool sharing_release(struct sharing *sh, struct session *s, struct err *e) MUST_USE;

// The rows to take: at most `window` rows, with `most` tokens. A claim makes them ours, unless they
// hold fewer tokens than `least`.
struct sharing_wish {
    int window, most, least;
    bool claim;
};

// Returns the rows that wait, as sql/read.sql gives them; the caller clears them. A claim returns
// no rows if another collector has moved the cursor meanwhile; then the next claim locks the cursor
// first.
bool sharing_take(struct sharing *sh, struct session *s, const struct sharing_wish *wish,
    PGresult **rows, struct err *e) MUST_USE;

// Marks the rows that were claimed into the batch as done.
bool sharing_mark(struct sharing *sh, struct session *s, struct batch *b, struct err *e) MUST_USE;

// Frees the claims of collectors that have been gone for longer than the grace. Call it from time
// to time while others have claims.
bool sharing_free(struct sharing *sh, struct session *s, struct err *e) MUST_USE;

// --- one after the other -------------------------------------------------------------

// Several collectors take turns: one works and the others stand by. The session that holds a
// certain lock has the turn.

// Takes the turn if it is free; *got says whether it was.
bool turn_try(struct session *s, const char *queue, bool *got, struct err *e) MUST_USE;

bool turn_give_back(struct session *s, const char *queue, struct err *e) MUST_USE;

// Returns when it is this session's turn, or after TERM. The collector that had the turn in its
// last session comes back at once. Others give it a moment to do so and to confirm its last line.
bool turn_wait(struct session *s, const char *queue, bool had_it, struct err *e) MUST_USE;
