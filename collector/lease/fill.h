// Decides when to look at the queue, and how full a line must be then. Pure.
//
// Tokens are announced one by one. A full line is leased at once. A line that is not full is leased
// when its first token has waited for the timeout. The database counts again at every look, so one
// announcement too many costs only a look.
//
// A look says how many tokens wait, not which. The fill assumes that the tokens announced last are
// the ones that wait, except those that were in a line of ours. So it remembers by id what was
// announced and what was taken. The announcement of a token often comes in only after the line that
// holds it, and must not open a window for later tokens.
//
// A look may count tokens that were not announced. They came, or came due to be tried again, after
// the last look that left nothing, so they are due by the time of that look plus the timeout. But
// such a token may also be only a moment old, with its announcement on the way. So the fill waits a
// moment for the announcement.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "pace.h"

struct fill_entry {
    int64_t id;    // 0: the announcement did not say which token
    int64_t at_ns; // when the token was announced or taken
    bool taken;
};

struct fill {
    int limit;
    int64_t timeout_ns;
    struct pace pace;             // may choose a shorter timeout, after a pace_init; see pace.h
    int known;                    // tokens that are believed to wait
    int64_t heard_ns;             // when the first of these was announced; CLOCK_NEVER: none was
    int unheard;                  // how many of these were not announced so far
    int64_t unheard_ns;           // since when these are assumed to wait
    bool unsure;                  // a full line was taken, so only the next look shows what is left
    int64_t look_at_ns;           // look then even without an announcement; CLOCK_NEVER: do not
    int after_look;               // how many were announced since the last look was asked for
    int64_t looking_ns;           // when that look was asked for
    int64_t complete_ns;          // when the last look that left nothing was asked for
    struct fill_entry *announced; // owned; the last `limit` announcements, in a ring
    uint64_t count;               // how many tokens were announced since the start
    struct fill_entry *memory;    // owned; one entry for each id modulo their number
    size_t mask;                  // the number of entries in `memory`, a power of two, minus 1
};

bool fill_init(struct fill *f, int limit, int64_t timeout_ns, struct err *e) MUST_USE;
void fill_fini(struct fill *f); // accepts a zeroed struct

// Forgets everything, because nobody knows what waits: the next look is at once, and sends what it
// finds.
void fill_restart(struct fill *f, int64_t now_ns);

// A token was announced; id 0: the announcement did not say which.
void fill_announced(struct fill *f, int64_t id, int64_t now_ns);

// Plans a look at that time, because something is to be tried again then.
void fill_due(struct fill *f, int64_t at_ns);

// Returns when to look; CLOCK_NEVER: not at all.
int64_t fill_look_ns(const struct fill *f);

// Returns how many tokens must wait before a line is made now: the limit, or 1.
int fill_fewest(const struct fill *f, int64_t now_ns);

// A look is asked for.
void fill_looking(struct fill *f, int64_t now_ns);

// The answer to the look: call fill_token for each token of the line and then fill_took (more:
// others are likely to wait), or fill_left when there were too few for a line.
void fill_token(struct fill *f, int64_t id, int64_t now_ns);
void fill_took(struct fill *f, bool more, int64_t now_ns);
void fill_left(struct fill *f, int waiting, int64_t now_ns);
