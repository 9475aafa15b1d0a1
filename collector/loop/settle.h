// Tells the database what became of lines: settles them or gives them back, records answers, and
// clears up what is in doubt.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include <libpq-fe.h>

#include "base/err.h"
#include "queue/outbox.h"
#include "queue/queue_lines.h"

struct settle {
    struct outbox outbox; // answers that the database has not confirmed
    struct settled sent;  // the lines of the last request that settled lines or gave them back
    bool giving_back;     // `sent` names rows to give back, which the database has not confirmed
    bool busy;            // we hold the lock that shows others that something is in hand
    int locks;            // how often we may hold it; after a request failed it is more than once
    int unlocking;        // the tag of the request under way that lets one go; 0: none does
    int64_t retry_at_ns;  // when to send a request again that failed
    // The question after a lost session: which rows are ours, and which tokens of our lines still
    // wait?
    enum settle_doubt { DOUBT_DUE, DOUBT_ASKED, DOUBT_CLEARED } doubt;
    bool rows_left; // the answer to that question did not name all our rows
};

struct collector;

void settle_init(struct collector *c);
void settle_fini(struct collector *c);
// Forgets what the last session knew of our rows and locks. Call it when a session ends or begins.
void settle_restart(struct collector *c);

// Asks what is in doubt, settles what is written and records answers.
bool settle_step(struct collector *c, struct err *e) MUST_USE;
// These deal with the answers to the requests of settle_step and settle_give_back.
bool settle_on_doubt(struct collector *c, const PGresult *r, struct err *e) MUST_USE;
bool settle_on_settled(struct collector *c, const PGresult *r, struct err *e) MUST_USE;
bool settle_on_answered(struct collector *c, const PGresult *r, struct err *e) MUST_USE;

// Call settle_done when a take was answered, which may have settled lines, too: its answer `r` has
// a row for each of these lines that was no longer ours. Call settle_failed when a request that
// settled lines has failed.
bool settle_done(struct collector *c, const PGresult *r, struct err *e) MUST_USE;
void settle_failed(struct collector *c);

// Call settle_note_lock after a take that asked for the lock of work in hand, and has it. Call
// settle_may_lock after one that asked for it and failed: the server does not undo a lock.
void settle_note_lock(struct collector *c);
void settle_may_lock(struct collector *c);

// Gives back all rows of which no line is begun.
bool settle_give_back(struct collector *c, struct err *e) MUST_USE;

// True when a line is written, and the database does not know it yet.
bool settle_owes(const struct collector *c);
