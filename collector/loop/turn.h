// The state stand by: claims the queue, or joins it. Where one collector works at a time, it has
// the turn and is called the holder; the others wait for their turn.
//
// A holder that lost its session may come back at any time; others leave it the grace, so that it
// can confirm what it has written. A holder that keeps its session loses its turn if, while tokens
// wait, it neither moves the cursor nor renews its lease for as long as a lease lasts.
#pragma once

#include "loop/state.h"
#include "queue/queue.h"

struct turn {
    enum turn_step {
        TURN_WATCH, // another may have the turn
        TURN_ASKED, // we asked for the turn, and the answer is awaited
        TURN_OURS,
    } step;
    int64_t look_at_ns;    // when to try again to claim the queue
    int64_t free_since_ns; // since when the queue's lock is free; CLOCK_NEVER: somebody has it
    int64_t idle_since_ns; // since when the holder does nothing while tokens wait; CLOCK_NEVER: it
                           // works, or none waits
    int64_t looked_ns;     // when the last look was answered
    bool claimed;          // the last try named a holder whose grace or lease is over
    bool logged;           // the log says that we stand by
};

struct collector;

// Forgets what was seen of the holder. Call it at the start, and when a session is lost.
void turn_reset(struct collector *c);
// The step of the state stand by.
bool turn_stand_by(struct collector *c, enum state *next, struct err *e) MUST_USE;
// From whom we may take the queue.
enum turn_claim {
    CLAIM_FROM_NOBODY, // from nobody: it must be free, or have been ours before
    CLAIM_GRACE,       // from the holder that we saw, whose grace is over
    CLAIM_LEASE,       // from the holder of the epoch that we saw, whose lease is over
};
// Returns from whom we may take the queue at this moment, by what the last look has shown.
enum turn_claim turn_claim(const struct collector *c);

// Call it when another collector has the queue or, with `free`, had it and may come back. Notes
// what was seen of that holder, times its grace or its lease, and plans the next look.
void turn_watch(struct collector *c, bool free, const struct seen *seen);

void turn_begin(struct collector *c); // call it when the turn is ours

void turn_leave(struct collector *c); // gives up the turn at the end, in good order
