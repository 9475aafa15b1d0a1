// The requests that call the queue's functions (migrations/README.md): they take and settle lines,
// record answers, ask what is in doubt, and deal with the other collectors.
#pragma once

#include "queue/outbox.h"
#include "queue/queue.h"
#include "timing/owners.h"

// Prepares the statements of these requests. Call it once in each session.
bool queue_send_prepare_lines(struct session *s, int64_t deadline_ns, struct err *e) MUST_USE;

// The lines that one request settles or gives back, as SQL arrays. `ends` has for each row the id
// of the last token that was in its line, if only a part of the row was; else NULL. `tokens` and
// `reasons` are the dead letters.
struct settled {
    struct buf lines, nonces, ends, tokens, reasons;
    bool has_ends, has_dead; // `ends` has an id; `tokens` has a dead letter
    const char *cursor_to; // where the cursor goes, for a line that was only read; borrowed; NULL:
                           // there is no such line
};

struct take_request {
    int fewest;        // if fewer tokens wait, take nothing, and tell which tokens wait
    int lines;         // most lines to take
    const char *again; // an array of rows of ours to read again; NULL: none
    int64_t due_ms; // look for rows without an owner that came due within so many ms; -1: for all
                    // of them; 0: for none
    bool aged;      // a lower lane goes first if its oldest token has waited for the ageing bound
    bool lock;      // take the lock for work in hand with the first token
    const struct settled *settled; // to be settled in the same transaction; NULL: none
};
// Takes lines; but if fewer than r->fewest tokens wait, only looks.
bool queue_send_take(const struct queue *q, struct session *s, const struct take_request *r,
    int64_t deadline_ns, struct err *e) MUST_USE;

// Reads up to `wanted` waiting tokens, and takes nothing. behind: the place of a line of ours after
// which the read begins; NULL: it begins at the cursor.
bool queue_send_read(const struct queue *q, struct session *s, int wanted, const char *behind,
    int64_t deadline_ns, struct err *e) MUST_USE;

// Settles lines (outcome "written"), or gives them back ("back"). unlock: releases the lock for
// work in hand, because nothing is in hand any more.
bool queue_send_settled(const struct queue *q, struct session *s, const struct settled *settled,
    const char *outcome, bool unlock, int64_t deadline_ns, struct err *e) MUST_USE;
// Records answers; outbox_send makes the columns. unlock: as in queue_send_settled.
bool queue_send_answered(const struct queue *q, struct session *s,
    const char *columns[OUTBOX_COLUMNS], bool unlock, int64_t deadline_ns, struct err *e) MUST_USE;
// Asks which rows are still ours, and which of these tokens, whose line is out, still wait.
// `tokens` is an SQL array of ids.
bool queue_send_in_doubt(const struct queue *q, struct session *s, const char *tokens,
    int64_t deadline_ns, struct err *e) MUST_USE;

// A caller of queue_send_join or queue_send_peers gives these arguments of mailroom_peers; struct
// queue has the others.
struct peers_request {
    bool new_cursor;  // joining: make a new cursor if one is needed, which may take long
    const char *over; // joining: take the queue from this holder; NULL: from nobody
    int64_t hung;     // joining: take the queue from the holder of this epoch; 0: from nobody
    bool renew;       // renew our lease
    const struct owner *gone; // free what this owner has in hand; NULL: nobody
    const struct run *run;    // joining: describes the run in the history; NULL: it is recorded
    const char *leave;        // why we leave; NULL: we stay
    int64_t answered;         // leaving: tokens that were answered
};
// How this run of the collector is described in the table `runs`.
struct run {
    char host[256], settings[256];
};
// Both call mailroom_peers. queue_send_join asks to claim or to join the queue. queue_send_peers is
// for a collector that has done so: it keeps its place, frees what others have, or leaves.
bool queue_send_join(const struct queue *q, struct session *s, const struct peers_request *r,
    int64_t deadline_ns, struct err *e) MUST_USE;
bool queue_send_peers(const struct queue *q, struct session *s, const struct peers_request *r,
    int64_t deadline_ns, struct err *e) MUST_USE;
