// The queue shared by any number of collectors (MAILROOM_DEQUEUE=shared): one moves
// the cursor and writes down in `deliveries` what it claims by that, writes the
// line, and takes it from there. Claims of one that is gone for longer than the
// grace are nobody's.
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
    char number[24];       // ours, as long as the process lives
    char gone[512];        // who was seen gone, as an array of the server's
    int64_t gone_since_ns; // since when all of them, and nobody else
    int64_t asked_ns;      // when it was last asked who is gone
};

void sharing_init(struct sharing *sh, const struct settings *settings, enum defect defect);

// Takes the locks in a new session. A collector without them may claim nothing.
bool sharing_join(struct sharing *sh, struct session *s, struct err *e) MUST_USE;

// Gives back its claims. Do not call it while a line is being written or unmarked.
bool sharing_release(struct sharing *sh, struct session *s, struct err *e) MUST_USE;

// Returns the rows that wait, as sql/read.sql gives them; the caller clears them. With `claim` they
// become ours, unless they hold fewer tokens than `least`.
bool sharing_take(struct sharing *sh, struct session *s, int window, bool claim, int most,
    int least, PGresult **rows, struct err *e) MUST_USE;

// Marks the rows that were claimed into the batch as done.
bool sharing_mark(struct sharing *sh, struct session *s, struct batch *b, struct err *e) MUST_USE;

// Call it from time to time while others have claims.
bool sharing_free(struct sharing *sh, struct session *s, struct err *e) MUST_USE;
