// The queue in the database: its cursor, the claims in shared mode, and the turn in cursor mode.
//
// The cursor is in the table jobs. All tokens up to the cursor are done or, in shared mode, done or
// claimed.
#pragma once

#include "base/base.h"
#include "batch.h"
#include "session.h"
#include "settings.h"

// Returns the statement that reads the tokens after the cursor; some defects have a wrong one.
const char *cursor_read_sql(enum defect defect);

// Moves the cursor past the rows of the batch and inserts their dead letters, in one transaction.
bool cursor_move(
    struct session *s, const struct settings *settings, struct batch *b, struct err *e) MUST_USE;

// Defect overlaps: moves the cursor back by thirty tokens.
bool cursor_overlap(struct session *s, const struct settings *settings, struct err *e) MUST_USE;

// For several defects, such as cursor-back: moves the cursor back to an earlier position, even if
// another collector has moved it since.
bool cursor_move_back(struct session *s, const struct settings *settings, const struct position *to,
    struct err *e) MUST_USE;

// --- shared by any number ------------------------------------------------------------

// In shared mode (MAILROOM_DEQUEUE=shared) any number of collectors work on one queue. A collector
// claims rows: it moves the cursor past them and records them in the table deliveries. Then it
// writes their line, and deletes the record. When a collector is gone for longer than the grace,
// its claims become free.

struct sharing {
    const struct settings *settings;
    enum defect defect;
    char number[24];       // the number of this process as the owner of its claims
    char gone[512];        // the owners with claims that are gone, as an array in the server's text
                           // format
    int64_t gone_since_ns; // when `gone` last changed
    int64_t asked_ns;      // when it was last asked which owners are gone
};

// Prepares for sharing; chooses the owner's number at random.
void sharing_init(struct sharing *sh, const struct settings *settings, enum defect defect);

// Takes the locks of a collector that shares. Call it at the start of each session, before any
// claim.
bool sharing_join(struct sharing *sh, struct session *s, struct err *e) MUST_USE;

// Gives back this process's claims. Do not call it between writing a line and marking its rows.
bool sharing_release(struct sharing *sh, struct session *s, struct err *e) MUST_USE;

// Which rows to take: at most `window` rows with at most `most` tokens. With `claim` the rows are
// also claimed, unless they hold fewer than `least` tokens.
struct sharing_wish {
    int window, most, least;
    bool claim;
};

// Reads waiting rows, with the columns of sql/read.sql; the caller clears *rows. A claim first
// waits until no other collector is claiming; it returns no tokens if the cursor was moved
// meanwhile.
bool sharing_take(struct sharing *sh, struct session *s, const struct sharing_wish *wish,
    PGresult **rows, struct err *e) MUST_USE;

// Marks the claimed rows of the batch as done, and inserts their dead letters.
bool sharing_mark(struct sharing *sh, struct session *s, struct batch *b, struct err *e) MUST_USE;

// Frees the claims of collectors that have been gone for longer than the grace. Call it from time
// to time while other collectors have claims.
bool sharing_free(struct sharing *sh, struct session *s, struct err *e) MUST_USE;

// --- one after the other -------------------------------------------------------------

// In cursor mode one collector works, and the others stand by. The session that holds a certain
// advisory lock has the turn.

// Takes the turn if it is free. *got: the turn was free, and this session has it now.
bool turn_try(struct session *s, const char *queue, bool *got, struct err *e) MUST_USE;

// Gives the turn back.
bool turn_give_back(struct session *s, const char *queue, struct err *e) MUST_USE;

// Waits until this session has the turn, or until TERM. A collector that had the turn in its last
// session (had_it) takes it at once if it is free. Other collectors first give that one a moment to
// come back and confirm its last line.
bool turn_wait(struct session *s, const char *queue, bool had_it, struct err *e) MUST_USE;
