// What became of lines: settling them, giving them back, answers, and what is in doubt.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include <libpq-fe.h>

#include "base/err.h"
#include "queue/outbox.h"
#include "queue/queue_lines.h"

struct settle {
    struct outbox outbox; // answers
    struct settled sent;  // what is under way
    bool busy;            // we hold the lock that shows others that something is in hand
    int64_t retry_at_ns;
    // After a lost session: which rows are ours, and which tokens of our lines still wait?
    enum settle_doubt { DOUBT_DUE, DOUBT_ASKED, DOUBT_CLEARED } doubt;
    bool rows_left; // the answer did not name all our rows
};

struct collector;

void settle_init(struct collector *c);
void settle_fini(struct collector *c);
void settle_restart(struct collector *c); // a session begins

// Asks what is in doubt, settles what is written and records answers.
bool settle_step(struct collector *c, struct err *e) MUST_USE;
bool settle_on_doubt(struct collector *c, const PGresult *r, struct err *e) MUST_USE;
bool settle_on_settled(struct collector *c, const PGresult *r, struct err *e) MUST_USE;
bool settle_on_answered(struct collector *c, const PGresult *r, struct err *e) MUST_USE;

// The request that settled lines was confirmed, or has failed. If it also took lines, the answer
// `r` has the lines that were no longer ours as rows of their own.
bool settle_done(struct collector *c, const PGresult *r, struct err *e) MUST_USE;
void settle_failed(struct collector *c);

// Gives back all rows that were taken and not begun.
bool settle_give_back(struct collector *c, struct err *e) MUST_USE;

// True when something is written, and the database does not know it yet.
bool settle_owes(const struct collector *c);
