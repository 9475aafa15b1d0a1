// The requests of the queue's functions (migrations/README.md): take and settle lines, answers,
// what is in doubt, and the other collectors.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "queue/outbox.h"
#include "queue/queue.h"
#include "timing/owners.h"

bool queue_send_prepare_lines(struct session *s, int64_t deadline_ns, struct err *e) MUST_USE;

// Lines that are settled in one request, as arrays for the database. ends: NULL where all of each
// row was in its line.
struct settled {
    struct buf lines, nonces, ends, tokens, reasons;
    bool part, dead;
    const char *place; // of the one line that was read, but not taken; borrowed; NULL: none
};

struct lines_request {
    int fewest;        // with fewer tokens only look
    int lines;         // most lines to take
    const char *again; // an array of rows of ours to read again; NULL: none
    int64_t due_ms;    // since when something may have come due; -1: look at all; 0: at none
    bool aged;         // a lower lane that has aged goes first
    bool busy;         // take the lock that shows that something is in hand
    const struct settled *settled; // to be settled in the same transaction; NULL: none
};
bool queue_send_lines(const struct queue *q, struct session *s, const struct lines_request *r,
    int64_t deadline_ns, struct err *e) MUST_USE;

// Reads what waits, and takes nothing. behind: the place of a line of ours; NULL: the cursor.
bool queue_send_read(const struct queue *q, struct session *s, int wanted, const char *behind,
    int64_t deadline_ns, struct err *e) MUST_USE;

// Settles lines, or gives them back. last: nothing is in hand any more.
bool queue_send_settled(const struct queue *q, struct session *s, const struct settled *settled,
    const char *outcome, bool last, int64_t deadline_ns, struct err *e) MUST_USE;
bool queue_send_answered(const struct queue *q, struct session *s,
    const char *columns[OUTBOX_COLUMNS], bool last, int64_t deadline_ns, struct err *e) MUST_USE;
// `tokens` is an array as text.
bool queue_send_in_doubt(const struct queue *q, struct session *s, const char *tokens,
    int64_t deadline_ns, struct err *e) MUST_USE;

// What mailroom_peers is asked for; the rest of it is in `queue`.
struct peers_request {
    bool settle;      // joining: make a new cursor if one is needed, however long it takes
    const char *over; // joining: take the queue from this holder; NULL: from nobody
    int64_t hung;     // joining: take the queue from the holder of this epoch; 0: from nobody
    bool renew;       // renew our lease
    const struct owner *gone; // free what it has in hand; NULL: nobody
    const struct run *run;    // joining: describes the run in the history; NULL: it is known
    const char *leave;        // why we leave
    int64_t answered;         // leaving: tokens that were answered
};
struct run {
    char host[256], settings[256];
};
bool queue_send_join(const struct queue *q, struct session *s, const struct peers_request *r,
    int64_t deadline_ns, struct err *e) MUST_USE;
bool queue_send_peers(const struct queue *q, struct session *s, const struct peers_request *r,
    int64_t deadline_ns, struct err *e) MUST_USE;
