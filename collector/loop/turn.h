// Turns: the state stand by. Where one collector works at a time, the others wait there.
//
// A holder that lost its session may come back at any time; others leave it the grace, so that it
// can confirm what it has written. A holder that keeps its session, but neither moves the cursor
// nor renews its lease while something waits, has lost the lease.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "loop/state.h"
#include "queue/queue.h"

struct turn {
    enum turn_step {
        TURN_WATCH, // another may have the turn
        TURN_ASKED, // an answer is awaited
        TURN_OURS,
    } step;
    int64_t look_at_ns; // when to look again
    int64_t free_ns;    // since when nobody has the lock; CLOCK_NEVER: somebody has it
    int64_t still_ns;   // since when tokens wait and the queue's holder does nothing
    int64_t looked_ns;  // when the last look was answered
    bool told;          // the log says that we stand by
};

struct collector;

void turn_forget(struct collector *c); // call it when a session begins, or was lost
bool turn_stand_by(struct collector *c, enum state *next, struct err *e) MUST_USE;
// Whom we may take the queue from.
enum turn_claim {
    CLAIM_FREE,  // nobody, or an earlier session of ours
    CLAIM_GRACE, // the holder that was seen, which has had its grace
    CLAIM_LEASE, // the holder of the epoch that was seen, whose lease is over
};
enum turn_claim turn_claim(const struct collector *c);

// Another has the queue, or had it and may come back (`free`).
void turn_watch(struct collector *c, bool free, const struct seen *seen);

void turn_begin(struct collector *c); // the turn is ours

void turn_leave(struct collector *c); // gives up the turn at the end, in good order
