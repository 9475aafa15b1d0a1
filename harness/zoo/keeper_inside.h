// The state of the keeper, shared by its loop (keeper.c) and its sending (keeper_send.c).
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
    bool unconfirmed; // true: a line may be written without the cursor having moved, so the cursor
                      // must move before anything is read
    bool draining;    // true after a connect until the first look is done: the tokens that wait
                      // then go out at once
    bool behind;      // true: committed tokens cannot be read yet because of an open transaction,
                      // or other collectors have claims
    int announced;    // number of tokens that the last look left waiting, plus the announcements
                      // since then
    int64_t first_ns; // when the oldest waiting token was found; CLOCK_NEVER: no token waits
    int64_t first_wall_ns;  // defect wall-clock: first_ns by the time of day
    bool singly;            // defect sends-singly: the next line holds one token
    int64_t looked_ns;      // time of the last look at the queue
    int64_t backoff_ns;     // how long to wait before the next connect
    int sessions;           // number of sessions that were opened and used
    bool had_turn;          // true: had the turn in the last session; defect hoards: has the turn
                            // now
    struct position before; // where the cursor was before its last move; defect barges-in: where it
                            // was at the last look
    int64_t free_ns;        // earliest time of the next line, at the rate that the collector is to
                            // sustain
    int lines;              // defects burns, flaps and sends-some-twice: number of lines written
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

// Sends the batch: first writes its line, then moves the cursor. If the collector dies in between,
// the line is written again, and nothing is lost.
bool keeper_send(struct keeper *k, struct err *e) MUST_USE;

// Moves the cursor past the batch. If the connection dies here, the next session tries the same
// move again, which does nothing if the first move has succeeded. In both cases the rows are not
// written again.
bool keeper_move_cursor(struct keeper *k, struct err *e) MUST_USE;

// Defect breaks-off: at TERM, writes the first half of the waiting line and no more.
bool keeper_break_off(struct keeper *k, struct err *e) MUST_USE;
