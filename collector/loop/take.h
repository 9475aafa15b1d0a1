// The next lines: when to look, what to take, and which lines the answer makes.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include <libpq-fe.h>

#include "base/err.h"

#define TAKE_TRIPS 4
#define TAKE_ALL_DUE_NS (30 * NS_PER_S) // between two looks at everything that is due
// Most lines that are taken at once. What a line holds must be as the database had it at the
// earliest when the line before the last one was out, so a third line would be too old
// (`ineligible`).
#define TAKE_LINES 2

struct taking {
    int64_t asked_ns; // when the take that is under way was sent
    bool asked_all;   // it looks at everything that is due
    int again;        // it reads so many rows of ours again, the first that are held
    bool reads;       // it only reads (mailroom_read), and takes nothing
    bool judge;       // the next one must take: a read cannot dismiss what no line may hold
    bool void_;       // its answer is dropped: it may hold what a line that was put back held
    int fewest;       // with fewer tokens nothing is taken
    int examine;      // tokens to read
    int passing;      // how many of these were lately passed over
    bool at_once;     // what waited before our session goes out without a wait
    bool more;        // more was left behind the last take
    bool all_due;     // the next take looks at everything that is due
    int64_t all_due_at_ns;
    int64_t complete_ns; // all that was due before this time was seen
    int64_t look_at_ns; // look then although nothing was announced; CLOCK_NEVER: no look is planned
    int64_t retry_at_ns;          // when to send a statement again that failed
    int64_t budget_ns;            // nothing is left of the budget before this time
    bool unpaid;                  // nor are the rows paid for that are to be read again
    unsigned turns;               // how many takes found tokens that waited
    int lines;                    // how many lines to take at once
    int64_t taken_ns;             // when the last take was sent that was to find full lines
    int reason;                   // the meter of the reason why a line that is not full goes out
    int64_t trips_ns[TAKE_TRIPS]; // how long the last takes took, in a ring
    int trip;
    bool large; // an answer was large since memory was last given back
};

struct collector;
struct settled;

// Nothing is known of what waits: a session begins.
void take_restart(struct collector *c);

// Plans a look at everything that is due.
void take_look_at_all(struct collector *c);

// Takes lines, or looks, if that is due now. With `settled`, lines that are settled in the same
// transaction, it does so only if more is likely to wait. *sent: the request was sent.
bool take_step(
    struct collector *c, const struct settled *settled, bool *sent, struct err *e) MUST_USE;

// Takes over the answer.
bool take_on_lines(struct collector *c, PGresult *result, struct err *e) MUST_USE;

// Returns up to which age, counted from its take, a line may be begun.
int64_t take_stale_ns(const struct collector *c);

// Makes lines that were read too long ago be read again.
bool take_hold_old(struct collector *c, struct err *e) MUST_USE;
