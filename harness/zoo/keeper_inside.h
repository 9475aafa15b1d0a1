// The parts of the keeper that its loop (keeper.c) and its sending (keeper_send.c) share.
#pragma once

#include "batch.h"
#include "doorbell.h"
#include "keeper.h"
#include "session.h"
#include "sharing.h"

struct keeper {
    const struct settings *settings;
    enum defect defect;
    struct session session;
    struct sharing sharing;
    struct doorbell bell;
    struct batch batch;
    bool unconfirmed;  // the line may be out, but the cursor is not known to be moved: do not read
    bool draining;     // after a connect: waiting tokens go out at once
    bool behind;       // committed tokens wait for an open transaction, or others have claims
    int announced;     // tokens left by the last look, and announcements since then
    int64_t first_ns;  // when the oldest waiting token was found; CLOCK_NEVER: none waits
    int64_t looked_ns; // the last look at the queue
    int64_t backoff_ns;
    int sessions;           // the number of sessions in which it worked
    bool had_turn;          // in the last session; defect hoards: has it now
    struct position before; // defect cursor-back: where the cursor was before the last move
    int64_t free_ns;        // when it may write again, at the rate that it sustains
    int lines;              // defects burns and sends-some-twice: lines written
    int wakeups;            // defect counts-wakeups: wake-ups since the last line
    void *leaked;           // defect leaks: a chain of blocks
};

static inline bool has(const struct keeper *k, enum defect defect)
{
    return k->defect == defect;
}

static inline bool is_lazy(const struct keeper *k)
{
    return has(k, DEFECT_LAZY_CURSOR) || has(k, DEFECT_LAZY_MARKS);
}

// Writes the line first and moves the cursor after it. A crash in between repeats the line and
// loses nothing.
bool keeper_send(struct keeper *k, struct err *e) MUST_USE;

// Moves the cursor past the batch. If the connection dies here, the next session tries the same
// move again, which does nothing if the first one succeeded. In both cases the rows are not written
// again.
bool keeper_move_cursor(struct keeper *k, struct err *e) MUST_USE;

// Defect breaks-off: writes half of the waiting line at TERM and stops there.
bool keeper_break_off(struct keeper *k, struct err *e) MUST_USE;
