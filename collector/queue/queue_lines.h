// The requests that call the queue's functions (migrations/README.md): they take and settle lines,
// record answers, ask what is in doubt, and deal with the other collectors.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "queue/outbox.h"
#include "queue/queue.h"
#include "timing/owners.h"

// Prepares the statements of these requests. Call it once in each session.
bool queue_send_prepare_lines(struct session *s, int64_t deadline_ns, struct err *e) MUST_USE;

// Lines that are settled in one request, as arrays for the database. `ends` has, for each row of
// which only a part was in its line, the id of the last token in the line, and else NULL. `tokens`
// and `reasons` are the dead letters.
struct settled {
    struct buf lines, nonces, ends, tokens, reasons;
    bool part, dead;   // `ends` has an id; there are dead letters
    const char *place; // where the cursor goes, for a line that was only read; borrowed; NULL: none
};

struct lines_request {
    int fewest;        // with fewer waiting tokens only look
    int lines;         // most lines to take
    const char *again; // an array of rows of ours to read again; NULL: none
    int64_t due_ms;    // how long ago rows may have come due that are looked at; -1: at any time;
                       // 0: at none
    bool aged;         // a lower lane goes first if its oldest token has aged
    bool busy;         // take the lock that shows that something is in hand
    const struct settled *settled; // to be settled in the same transaction; NULL: none
};
bool queue_send_lines(const struct queue *q, struct session *s, const struct lines_request *r,
    int64_t deadline_ns, struct err *e) MUST_USE;

// Reads up to `wanted` waiting tokens, and takes nothing. behind: the place of a line of ours after
// which the read begins; NULL: it begins at the cursor.
bool queue_send_read(const struct queue *q, struct session *s, int wanted, const char *behind,
    int64_t deadline_ns, struct err *e) MUST_USE;

// Settles lines (outcome "written"), or gives them back ("back"). last: nothing is in hand any
// more, so the lock that shows others our work is let go.
bool queue_send_settled(const struct queue *q, struct session *s, const struct settled *settled,
    const char *outcome, bool last, int64_t deadline_ns, struct err *e) MUST_USE;
// Records answers; outbox_send makes the columns. last: as in queue_send_settled.
bool queue_send_answered(const struct queue *q, struct session *s,
    const char *columns[OUTBOX_COLUMNS], bool last, int64_t deadline_ns, struct err *e) MUST_USE;
// Asks which rows are still ours, and which of these tokens, whose line is out, still wait.
// `tokens` is an array as text.
bool queue_send_in_doubt(const struct queue *q, struct session *s, const char *tokens,
    int64_t deadline_ns, struct err *e) MUST_USE;

// A caller asks mailroom_peers for these; the other arguments come from struct queue.
struct peers_request {
    bool settle;      // joining: make a new cursor if one is needed, however long it takes
    const char *over; // joining: take the queue from this holder; NULL: from nobody
    int64_t hung;     // joining: take the queue from the holder of this epoch; 0: from nobody
    bool renew;       // renew our lease
    const struct owner *gone; // free what this owner has in hand; NULL: nobody
    const struct run *run;    // joining: describes the run in the history; NULL: it is recorded
    const char *leave;        // why we leave; NULL: we stay
    int64_t answered;         // leaving: tokens that were answered
};
struct run {
    char host[256], settings[256];
};
bool queue_send_join(const struct queue *q, struct session *s, const struct peers_request *r,
    int64_t deadline_ns, struct err *e) MUST_USE;
bool queue_send_peers(const struct queue *q, struct session *s, const struct peers_request *r,
    int64_t deadline_ns, struct err *e) MUST_USE;
