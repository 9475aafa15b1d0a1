// The queue shared with SKIP LOCKED: what is asked otherwise than with a cursor.
//
// Any number of collectors work at once, in no order. Each holds a session lock
// with a number of its own, and its claims bear that number; so a claim whose
// lock is free belongs to the dead. There is no cursor: what was written is
// marked, token by token.
#pragma once

#include "dead.h"
#include "queue.h"

bool skip_send_prepare(struct session *s, int64_t deadline_ns, struct err *e) MUST_USE;

// Takes a lock of our own and shares that of the queue.
bool skip_send_lock(
    const struct queue *q, struct session *s, int64_t deadline_ns, struct err *e) MUST_USE;

// Claims the next `wanted` tokens if at least `fewest` wait; the answer is a read's.
bool skip_send_take(const struct queue *q, struct session *s, int wanted, int examine, int fewest,
    int64_t deadline_ns, struct err *e) MUST_USE;

// Gives our claims back.
bool skip_send_release(
    const struct queue *q, struct session *s, int tag, int64_t deadline_ns, struct err *e) MUST_USE;

// Frees the claims of `gone`, an array as text, and asks who is gone now.
bool skip_send_orphans(
    struct session *s, const char *gone, int64_t deadline_ns, struct err *e) MUST_USE;

// Marks the first n rows as dequeued, the dead ones among them as such.
bool skip_send_advance(const struct queue *q, struct session *s, int tag, const struct batch *b,
    int n, const struct dead *d, int64_t deadline_ns, struct err *e) MUST_USE;

// In a new session: the same for a batch of the session before, whose claims
// may be gone and whose ids may have been given to other tokens meanwhile.
bool skip_send_confirm(const struct queue *q, struct session *s, const struct batch *b, int n,
    const struct dead *d, int64_t deadline_ns, struct err *e) MUST_USE;
