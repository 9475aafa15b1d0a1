// Tells the database what became of lines: settles them or gives them back, and records answers.
#pragma once

#include <libpq-fe.h>

#include "queue/outbox.h"
#include "queue/queue_lines.h"

struct settle {
    struct outbox outbox; // answers that the database has not confirmed
    struct settled sent;  // the lines of the last request that settled lines or gave them back
    bool alone;           // a request that settled lines has failed: the next one takes nothing
    bool giving_back;     // `sent` names rows to give back, which the database has not confirmed
    // The lock for work in hand shows other collectors that we have something in hand.
    bool holds_lock;     // we know that we hold it
    int lock_count;      // how often we may hold it: more than once after a request has failed
    int unlock_tag;      // the tag of the request under way that releases it once; 0: none does
    int64_t retry_at_ns; // when to send a request again that failed
};

struct collector;

void settle_init(struct collector *c);
void settle_fini(struct collector *c);
// Forgets what the last session knew of our rows and locks. Call it when a session is lost, and
// when we have claimed or joined the queue.
void settle_restart(struct collector *c);

// Asks what is in doubt (in_doubt.h), settles what is written and records answers.
bool settle_step(struct collector *c, struct err *e) MUST_USE;
// These deal with the answers to the requests of settle_step and settle_give_back.
bool settle_on_settled(struct collector *c, const PGresult *r, struct err *e) MUST_USE;
bool settle_on_answered(struct collector *c, const PGresult *r, struct err *e) MUST_USE;

// Call settle_done when a take was answered, which may have settled lines, too: its answer `r` has
// a row for each of these lines that was no longer ours. Call settle_failed when a request that
// settled lines has failed.
bool settle_done(struct collector *c, const PGresult *r, struct err *e) MUST_USE;
void settle_failed(struct collector *c);

// Call it after a take that has asked for the lock for work in hand, if it brought a token or has
// failed. `given`: it brought a token, and so has taken the lock. False: it has failed; but the
// server may have given the lock, and a rollback does not undo that.
void settle_lock_asked(struct collector *c, bool given);

// Clears the doubt if nothing is in hand. Call it when a take that looked at all rows found no
// token that waits.
void settle_saw_nothing(struct collector *c);

// Gives back all rows of which no line is begun. While a token is in doubt, it gives back none.
bool settle_give_back(struct collector *c, struct err *e) MUST_USE;

// True when a line is written, and the database does not know it yet.
bool settle_pending(const struct collector *c);

// True while something stays in hand once all written lines are settled: a line, a row to be read
// again, or an answer.
bool settle_in_hand(const struct collector *c);
