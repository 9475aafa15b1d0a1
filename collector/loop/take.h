// Takes the next lines: decides when to look and what to take, and makes lines of the answer.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include <libpq-fe.h>

#include "base/err.h"

#define TAKE_TRIPS 4                    // how many takes are timed
#define TAKE_ALL_DUE_NS (30 * NS_PER_S) // between two looks at everything that is due
// Most lines that are taken at once. A line must be no older than the time at which the last but
// one line before it was out (the harness checks that: `ineligible`). A third line would be too
// old.
#define TAKE_LINES 2

struct taking {
    int64_t asked_ns; // when the take that is under way was sent
    bool asked_all;   // that take looks at everything that is due
    int again;        // how many held rows (lines.h), the first ones, that take reads again
    bool locks;       // that take asks for the lock that shows that something is in hand
    bool reads;       // the last request only reads (mailroom_read), and takes nothing
    bool judge;       // the next request must take: a read cannot pass over all tokens
    bool void_;       // the answer to the read under way is dropped: it may hold tokens of lines
                      // that are read again
    int fewest;       // if fewer tokens wait, nothing is taken
    int examine;      // how many tokens the read looks at
    int passing;      // how many tokens reads are expected to pass over
    bool at_once;     // tokens that waited before our session go out without a wait
    bool more;        // the last take left tokens over
    bool all_due;     // the next take looks at everything that is due
    int64_t all_due_at_ns; // when all_due is set again; CLOCK_NEVER: only by take_look_at_all
    int64_t complete_ns;   // what was due before this time was seen; CLOCK_NEVER: nothing was
    int64_t look_at_ns;    // when to look even if nothing is announced; CLOCK_NEVER: not at all
    int64_t retry_at_ns;   // when to send a statement again that failed
    int64_t budget_ns;     // the budget allows no token before this time
    bool unpaid;           // until then no held row can go out either: none of them is paid for
    unsigned turns;        // how many takes made lines of waiting tokens
    int lines;             // how many lines to take at once
    int64_t taken_ns;      // when the last take of full lines was sent
    int reason;            // the meter of the reason why a line that is not full goes out
    int64_t trips_ns[TAKE_TRIPS]; // how long the last takes took, in a ring; 0: none yet
    int trip;                     // how many takes were timed
    bool large;                   // an answer was large since memory was last given back
};

struct collector;
struct settled;

// Forgets what is known of waiting tokens. Call it when a session begins.
void take_restart(struct collector *c);

// Plans a look at everything that is due.
void take_look_at_all(struct collector *c);

// Takes lines, or looks, if that is due now. `settled`: lines to settle in the same transaction, so
// that the request is sent only if more tokens are likely to wait; NULL: none. *sent tells whether
// the request was sent.
bool take_step(
    struct collector *c, const struct settled *settled, bool *sent, struct err *e) MUST_USE;

// Deals with the answer to a take or a read. Frees `result`, or keeps it for as long as lines point
// into it.
bool take_on_lines(struct collector *c, PGresult *result, struct err *e) MUST_USE;

// Returns how old a line may be when it is begun, counted from the sending of its take.
int64_t take_stale_ns(const struct collector *c);

// Drops lines that were read too long ago, so that their tokens are read again.
bool take_hold_old(struct collector *c, struct err *e) MUST_USE;
