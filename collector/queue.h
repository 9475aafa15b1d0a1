// The queue in the database: what is asked of it, and what the answers mean.
//
// A token's position is the pair (xid, id): the transaction that inserted it
// and its number. The cursor, in the table jobs, is the position behind which
// nothing was dequeued yet. Reading does not move it; a batch is read, written,
// and then passed by one compare-and-swap. Only transactions older than every
// running one are read, so nothing can appear behind the cursor later.
//
// Requests go through a session; their answers come back from it, tagged, and
// are decoded here. What skip-locked does otherwise stands in skip.h.
#pragma once

#include <stdint.h>

#include "batch.h"
#include "holder.h"
#include "session.h"

// What a request was for; the tag of its answer.
enum queue_request {
    QUEUE_SETTINGS,
    QUEUE_SCHEMA,
    QUEUE_SELF,
    QUEUE_LISTEN,
    QUEUE_PREPARE,
    QUEUE_TERMINATE,
    QUEUE_LOCK,
    QUEUE_CLAIM,
    QUEUE_READ,
    QUEUE_ADVANCE,
    QUEUE_CHECK,
    QUEUE_HORIZON,
    QUEUE_RELEASE,
    QUEUE_RESTAMP,
    QUEUE_SWITCH,
    QUEUE_CONFIRM, // skip-locked: an advance for the session before
    QUEUE_UNCLAIM, // skip-locked: gives claims back
    QUEUE_ORPHANS, // skip-locked: looks for claims of the dead
};

struct queue {
    const char *name;    // jobs.job_type, borrowed
    const char *channel; // borrowed
    bool shared;         // skip-locked: any number of collectors
    char claimant[24];   // our number, by which claims and a lock are ours
    int limit;
    int rows_max;
    char self[HOLDER_LEN];   // the name of this process
    char holder[HOLDER_LEN]; // of the one that claimed the queue last, as seen; "": nobody
    int64_t epoch;
    struct position cursor; // as the database last told
    char pid[16];           // our backend, to end it if it outlives its session
    char since[40];
    bool set_up;              // all of the set-up was answered
    char predecessor_pid[16]; // the backend of the last session that was; "" when none
    char predecessor_since[40];
};

void queue_init(struct queue *q, const char *name, const char *channel, bool shared, int limit);

// A new session: our backend of the last one becomes the predecessor, if that
// one was set up.
void queue_new_session(struct queue *q);

// Everything a session needs before it can try for the lock, in one trip.
bool queue_send_setup(
    const struct queue *q, struct session *s, int64_t deadline_ns, struct err *e) MUST_USE;
// ERR_SCHEMA that names the migration file when one is missing.
bool queue_decode_schema(const PGresult *r, struct err *e) MUST_USE;

// The first question of a session: who serves us?
bool queue_send_self(struct session *s, int64_t deadline_ns, struct err *e) MUST_USE;
// Remembers our backend, to end it should it outlive its session.
bool queue_decode_self(struct queue *q, const PGresult *r, struct err *e) MUST_USE;

// Cursor: takes the lock of the queue if it is free and nobody, we or, if `take` says
// so, the holder as last seen has claimed it last.
// LOCK_MOVED: taken, but the tokens' transaction numbers are from elsewhere.
// LOCK_UNUSED: the mode is another, but nobody has worked with it yet.
enum queue_lock { LOCK_HELD, LOCK_FREE, LOCK_TAKEN, LOCK_MOVED, LOCK_UNUSED };
bool queue_send_lock(const struct queue *q, struct session *s, bool take, int64_t deadline_ns,
    struct err *e) MUST_USE;
// ERR_USAGE that names the queue, which has no row in the table jobs; false.
bool queue_unknown(const char *name, struct err *e);
// LOCK_FREE: it was left to the holder, which may have changed.
bool queue_decode_lock(
    struct queue *q, const PGresult *r, enum queue_lock *lock, struct err *e) MUST_USE;

bool queue_send_claim(
    const struct queue *q, struct session *s, int64_t deadline_ns, struct err *e) MUST_USE;
bool queue_decode_claim(struct queue *q, const PGresult *r, struct err *e) MUST_USE;

// Asks for `wanted` tokens (at most rows_max), examining at most `examine` rows.
// The answer is for batch_decode.
bool queue_send_read(const struct queue *q, struct session *s, int wanted, int examine,
    int64_t deadline_ns, struct err *e) MUST_USE;
// Cursor: asks for a batch behind `from`, wherever the cursor stands.
bool queue_send_read_behind(const struct queue *q, struct session *s, struct position from,
    int64_t deadline_ns, struct err *e) MUST_USE;
// Moves the cursor to the batch_end of n rows; the unsendable ones among them
// become dead letters.
bool queue_send_advance(const struct queue *q, struct session *s, int tag, const struct batch *b,
    int n, int64_t deadline_ns, struct err *e) MUST_USE;
// *moved tells whether the cursor was where we left it.
bool queue_decode_advance(
    const struct queue *q, const PGresult *r, bool *moved, struct err *e) MUST_USE;

// Gives new numbers to what waits in a restored dump, without a deadline.
bool queue_send_restamp(const struct queue *q, struct session *s, struct err *e) MUST_USE;
// Carries the queue over to our mode, without a deadline once it has its locks.
bool queue_send_switch(const struct queue *q, struct session *s, struct err *e) MUST_USE;

// Gives the queue up in good order; nobody waits for the answer.
void queue_send_release(const struct queue *q, struct session *s, int64_t deadline_ns);

// Asks who holds the horizon. The answer is a text for the log, "" for nobody.
bool queue_send_horizon(struct session *s, int64_t deadline_ns, struct err *e) MUST_USE;
void queue_decode_horizon(const PGresult *r, char *text, size_t size);

bool queue_send_check(
    const struct queue *q, struct session *s, int64_t deadline_ns, struct err *e) MUST_USE;
bool queue_decode_check(const PGresult *r, struct err *e) MUST_USE;
