// Takes the next lines: decides when to look and what to take, and makes lines of the answer.
#pragma once

#include <libpq-fe.h>

#include "base/base.h"

#define TAKE_TRIPS 4                    // of how many of the last takes the times are kept
#define TAKE_ALL_DUE_NS (30 * NS_PER_S) // between two looks at everything that is due
// Most lines that are taken at once. Each line must show the database as it was when the line two
// places before it was out, or later (the harness checks that: `ineligible`). Of three lines that
// are taken at once, the third would be too old.
#define TAKE_LINES 2

// The collector has at most one request for tokens under way: a take, or a read, which takes
// nothing. This struct keeps what was asked, what the last answer told, and when to ask again.
struct taking {
    // The request under way, or the last one.
    int64_t asked_ns; // when it was sent
    enum {
        ASKED_TAKE,
        ASKED_READ,         // mailroom_read, which takes nothing
        ASKED_READ_IN_VAIN, // its answer is dropped: lines are read again that may have its tokens
    } asked;
    bool asked_all_due; // it is a take that looks at all rows that are due, however long ago
    bool asked_lock;    // it is a take that asks for the lock for work in hand (settle.h)
    int reread;         // it is a take that reads again this many rows, the first of lines.rereads
    int fewest;         // if fewer tokens wait, no line is made of them
    int examine;        // it is a read that looks at this many tokens

    // These decide what is sent next, and when.
    bool must_take;        // the next request is a take, which alone passes over tokens for good
    bool no_wait;          // tokens go out without a timeout: they waited before our session, or in
                           // a line that was too old
    bool backlog;          // more tokens waited than the last request took
    bool all_due;          // the next take looks at all rows that are due
    bool unpaid;           // until budget_ns no row of lines.rereads can go out: none is paid for
    int expect_passed;     // how many tokens the next read is expected to pass over
    int64_t all_due_at_ns; // when all_due is set again; CLOCK_NEVER: only by take_look_at_all
    int64_t complete_ns; // we saw every row that came due before this time, and look only at later
                         // ones; CLOCK_NEVER: we saw none
    int64_t look_at_ns;  // when to look even if nothing is announced; CLOCK_NEVER: not at all
    int64_t retry_at_ns; // when to send a statement again that failed
    int64_t budget_ns;   // the budget allows no token before this time
    unsigned turns;      // how many takes made lines of waiting tokens; see QUEUE_AGED_TURN
    int lines;           // how many lines to take at once
    int64_t taken_ns;    // when the last take of full lines was sent
    int reason;          // the meter of the reason why a line that is not full goes out

    // How long the last takes and reads took, in a ring; 0: none yet. By the quickest of them
    // take_stale_ns tells when a line is too old to be written.
    int64_t trips_ns[TAKE_TRIPS];
    int trip_count;    // how many were timed so far
    bool large_answer; // an answer was large since memory was last given back
};

struct collector;
struct settled;

// Forgets what is known of waiting tokens. Call it when we have claimed or joined the queue.
void take_restart(struct collector *c);

// Plans a take, at once, that looks at all rows without an owner that are due, however long ago.
void take_look_at_all(struct collector *c);

// Sends a take or a read, if that is due now, and tells in *sent whether it did. `settled`: lines
// that a take may settle in its own transaction (NULL: none). With such lines a take is sent only
// if more tokens are likely to wait; otherwise the caller settles the lines by themselves.
bool take_step(
    struct collector *c, const struct settled *settled, bool *sent, struct err *e) MUST_USE;

// Deals with the answer to a take or a read. Frees `result`, or keeps it for as long as lines point
// into it.
bool take_on_answer(struct collector *c, PGresult *result, struct err *e) MUST_USE;

// Returns how old a line may be when it is begun, counted from the sending of its take.
int64_t take_stale_ns(const struct collector *c);

// Drops lines that were read too long ago, so that their tokens are read again.
bool take_drop_old(struct collector *c, struct err *e) MUST_USE;
