// Turns: the state stand by, and the lease of the collector that has the queue.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include <libpq-fe.h>

#include "base/err.h"
#include "state.h"

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
    int64_t progress;   // the holder's progress that the last look showed
    bool told;          // the log says that we stand by
    int64_t renewed_ns; // our own lease: when we last renewed it or moved the cursor
};

struct collector;

void turn_forget(struct collector *c); // call it when a session begins, or was lost
bool turn_stand_by(struct collector *c, enum state *next, struct err *e) MUST_USE;
bool turn_on_lock(struct collector *c, const PGresult *result, struct err *e) MUST_USE;
bool turn_on_settle(struct collector *c, const PGresult *result, struct err *e) MUST_USE;
bool turn_on_claim(struct collector *c, const PGresult *result, struct err *e) MUST_USE;
bool turn_on_doubt(struct collector *c, const PGresult *result, struct err *e) MUST_USE;

bool turn_renew(struct collector *c, struct err *e) MUST_USE; // renews our lease, if it is time
bool turn_on_renew(struct collector *c, const PGresult *result, struct err *e) MUST_USE;

void turn_begin(struct collector *c); // the turn is ours

void turn_leave(struct collector *c); // gives up the turn at the end, in good order
