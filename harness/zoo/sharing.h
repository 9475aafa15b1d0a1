// A queue that any number of collectors share (MAILROOM_DEQUEUE=shared). A collector moves the
// cursor, records the rows that it claims in `deliveries`, writes the line, and then deletes its
// record. The claims of a collector that is gone for longer than the grace belong to nobody.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "batch.h"
#include "session.h"
#include "settings.h"

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
