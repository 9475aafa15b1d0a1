// The requests of the queue's functions (migrations/README.md): take and settle lines, answers,
// what is in doubt, and the other collectors.
#pragma once

#include "outbox.h"
#include "owners.h"
#include "queue.h"
#include "settle.h"

bool queue_send_prepare_lines(struct session *s, int64_t deadline_ns, struct err *e) MUST_USE;

struct lines_request {
    int fewest;     // with fewer tokens only look
    int lines;      // most lines to take
    int64_t again;  // the row of ours to read again; 0: none
    int64_t due_ms; // since when something may have come due; -1: look at all; 0: at none
    bool aged;      // a lower lane that has aged goes first
    bool busy;      // take the lock that shows that something is in hand
    const struct settled *settled; // to be settled in the same transaction; NULL: none
};
bool queue_send_lines(const struct queue *q, struct session *s, const struct lines_request *r,
    int64_t deadline_ns, struct err *e) MUST_USE;

// Settles lines, or gives them back. last: nothing is in hand any more.
bool queue_send_settled(const struct queue *q, struct session *s, const struct settled *settled,
    const char *outcome, bool last, int64_t deadline_ns, struct err *e) MUST_USE;
bool queue_send_answered(const struct queue *q, struct session *s,
    const char *columns[OUTBOX_COLUMNS], bool last, int64_t deadline_ns, struct err *e) MUST_USE;
// `tokens` is an array as text.
bool queue_send_in_doubt(const struct queue *q, struct session *s, const char *tokens,
    int64_t deadline_ns, struct err *e) MUST_USE;

// Joins the queue; `settle`: makes a new cursor if one is needed, however long that takes. The run
// is described in the history the first time.
struct run {
    char host[256], settings[256];
};
bool queue_send_join(const struct queue *q, struct session *s, bool settle, const struct run *run,
    int64_t deadline_ns, struct err *e) MUST_USE;
// Renews our lease, frees what `dead` has in hand (NULL: nobody), and asks for the others.
bool queue_send_peers(const struct queue *q, struct session *s, const struct owner *dead,
    bool renew, int64_t deadline_ns, struct err *e) MUST_USE;
// Leaves in good order.
bool queue_send_leave(const struct queue *q, struct session *s, const char *why, int64_t answered,
    int64_t deadline_ns, struct err *e) MUST_USE;
