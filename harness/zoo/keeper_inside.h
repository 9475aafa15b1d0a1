// Shared by the keeper's loop (keeper.c) and its sending (keeper_send.c).
#pragma once

#include "batch.h"
#include "doorbell.h"
#include "session.h"
#include "queue.h"
#include "vices.h"

struct keeper {
    const struct settings *settings;
    enum defect defect;
    struct session session;
    struct sharing sharing;
    struct doorbell bell;
    struct vices vices;
    struct batch batch;
    bool unconfirmed; // true: the line may be out and the cursor not moved, so nothing may be read
    bool draining;    // true after a connect: waiting tokens go out at once
    bool behind;      // true: committed tokens wait for an open transaction, or others have claims
    int announced;    // number of tokens that the last look left, and of announcements since then
    int64_t first_ns; // when the oldest waiting token was found; CLOCK_NEVER: none waits
    int64_t first_wall_ns; // defect wall-clock: the same by the time of day
    bool singly;           // defect sends-singly: the next line holds one token
    int64_t looked_ns;     // time of the last look at the queue
    int64_t backoff_ns;
    int sessions;           // number of sessions in which it worked
    bool had_turn;          // true: it had the turn in the last session; defect hoards: it has it
                            // now
    struct position before; // defect cursor-back: where the cursor was before the last move;
                            // barges-in: where it was at the last look
    int64_t free_ns;        // earliest time of the next line, at the rate that it sustains
    int lines;              // defects burns and sends-some-twice: number of lines written
    int wakeups;            // defect counts-wakeups: number of wake-ups since the last line
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
