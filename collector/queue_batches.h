// The part of the queue (queue.h) that deals with batches: what waits is read, taken, passed and
// given back. The answers come from the session with the tag of their request.
#pragma once

#include "batch.h"
#include "queue.h"

// Returns how many rows a read examines at first.
int queue_examine(const struct queue *q);

// Each of the next four asks for a batch, and batch_decode reads the answer. This one asks for what
// waits behind the cursor; if the queue takes, the tokens that we have taken come first.
bool queue_send_read(const struct queue *q, struct session *s, int wanted, int examine,
    int64_t deadline_ns, struct err *e) MUST_USE;
// Asks for what comes after `last` in the same stretch of the index.
bool queue_send_ahead(const struct queue *q, struct session *s, const struct batch *last,
    int64_t deadline_ns, struct err *e) MUST_USE;
// Asks for the tokens that we have taken, behind `after`.
bool queue_send_stock(const struct queue *q, struct session *s, struct position after, int wanted,
    int examine, int64_t deadline_ns, struct err *e) MUST_USE;
// Asks for the tokens that we have taken, from the first. Unless `whose` is NULL, that owner's
// oldest delivery is made ours before.
bool queue_send_adopt(const struct queue *q, struct session *s, const struct owner *whose,
    int64_t deadline_ns, struct err *e) MUST_USE;

// Takes up to `wanted` tokens. Together with the `have` tokens that we have already, they are a
// multiple of `step`. Examines at most `examine` rows for them. `aged`: a lower lane that has aged
// goes first.
struct take {
    int wanted, step, have, examine;
    bool aged;
};
bool queue_send_take(const struct queue *q, struct session *s, const struct take *t,
    int64_t deadline_ns, struct err *e) MUST_USE;
// *taken: how many tokens became ours. *every: the cursor has passed all that waited.
bool queue_decode_take(
    const PGresult *r, int *taken, bool *every, struct passed *passed, struct err *e) MUST_USE;

// Pays for up to `tokens` tokens out of the queue's budget.
bool queue_send_spend(const struct queue *q, struct session *s, int tokens, int64_t deadline_ns,
    struct err *e) MUST_USE;
// *granted: how many tokens are paid for. If none is, something is left again in *wait_ms.
bool queue_decode_spend(const PGresult *r, int *granted, int64_t *wait_ms, struct err *e) MUST_USE;

// Moves the cursor past a batch that is dealt with, or confirms its delivery. Its unsendable tokens
// become dead letters.
bool queue_send_pass(const struct queue *q, struct session *s, const struct batch *b,
    int64_t deadline_ns, struct err *e) MUST_USE;
// *ours tells whether the batch was still ours.
bool queue_decode_pass(const PGresult *r, bool *ours, struct err *e) MUST_USE;

// Gives back the tokens that we have taken behind `after`, for any collector to take.
bool queue_send_give_back(const struct queue *q, struct session *s, struct position after,
    int64_t deadline_ns, struct err *e) MUST_USE;
