// The queue in the database: what is asked of it, and what the answers mean.
//
// A token's position is the pair (xid, id): the transaction that inserted it
// and its number. The cursor, in the table jobs, is the position behind which
// nothing was dequeued yet. Reading does not move it; a batch is read, written,
// and then passed by one compare-and-swap. Only transactions older than every
// running one are read, so nothing can appear behind the cursor later.
//
// Requests go through a session; their answers come back from it, tagged, and
// are decoded here.
#pragma once

#include <stdint.h>

#include "holder.h"
#include "line.h"
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

struct position {
    uint64_t xid;
    int64_t id;
};

// Tokens whose turn came and who did not get one, by reason.
struct passed {
    int64_t expired;
    int64_t consumed;
    int64_t status;
};

struct row {
    struct token token;
    struct position at;
    struct passed passed;   // before this row, since the cursor
    const char *unsendable; // NULL: the wire can carry it
};

// What one read showed. The rows point into the result, so that nothing is
// copied; rows has room for queue_rows_max of them and is allocated once.
struct batch {
    PGresult *result;
    struct row *rows;
    int n;               // rows that are part of the batch
    int sendable;        // of these
    bool all;            // the read saw everything that waits; it may be not enough
    bool more;           // it stopped before it had enough: it had examined too much
    bool horizon;        // committed rows wait behind the horizon
    int64_t examined;    // rows between the cursor and `end`
    struct position end; // passing the batch moves the cursor here
    struct passed passed;
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
    char predecessor_pid[16]; // the same of the session before; "" when none
    char predecessor_since[40];
};

void queue_init(struct queue *q, const char *name, const char *channel, bool shared, int limit);

bool batch_init(struct batch *b, const struct queue *q, struct err *e) MUST_USE;
void batch_fini(struct batch *b);
void batch_clear(struct batch *b); // forgets the content, keeps the memory

// A new session: our backend of the last one becomes the predecessor.
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
// Skip-locked: takes a lock of its own and shares that of the queue.
enum queue_lock { LOCK_HELD, LOCK_FREE, LOCK_TAKEN, LOCK_MOVED, LOCK_UNUSED };
bool queue_send_lock(const struct queue *q, struct session *s, bool take, int64_t deadline_ns,
    struct err *e) MUST_USE;
// LOCK_FREE: it was left to the holder, which may have changed.
bool queue_decode_lock(
    struct queue *q, const PGresult *r, enum queue_lock *lock, struct err *e) MUST_USE;

bool queue_send_claim(
    const struct queue *q, struct session *s, int64_t deadline_ns, struct err *e) MUST_USE;
bool queue_decode_claim(struct queue *q, const PGresult *r, struct err *e) MUST_USE;

// Asks for `wanted` tokens (at most rows_max), examining at most `examine` rows.
bool queue_send_read(const struct queue *q, struct session *s, int wanted, int examine,
    int64_t deadline_ns, struct err *e) MUST_USE;
// Takes the result over. Cuts the batch behind its limit-th sendable token.
bool queue_decode_read(const struct queue *q, PGresult *r, int wanted, int examine, struct batch *b,
    struct err *e) MUST_USE;

// Moves the cursor to the batch_end of n rows; the unsendable ones among them
// become dead letters.
bool queue_send_advance(const struct queue *q, struct session *s, int tag, const struct batch *b,
    int n, int64_t deadline_ns, struct err *e) MUST_USE;
// *moved tells whether the cursor was where we left it.
bool queue_decode_advance(
    const struct queue *q, const PGresult *r, bool *moved, struct err *e) MUST_USE;

// The position behind the first n rows; when these are all, behind everything
// that was examined. *passed: whose turn came up to there.
struct position batch_end(const struct batch *b, int n, struct passed *passed);

// How many rows of `b`, from its first on, end with the last token that is also
// in `written`: the same id and the same secret, for ids may be used again.
// *matched counts the tokens found. 0: none of them.
int batch_find_written(const struct batch *b, const struct batch *written, int *matched);

// Gives new numbers to what waits in a restored dump, without a deadline.
bool queue_send_restamp(const struct queue *q, struct session *s, struct err *e) MUST_USE;
// Carries the queue over to our mode.
bool queue_send_switch(
    const struct queue *q, struct session *s, int64_t deadline_ns, struct err *e) MUST_USE;

// Skip-locked only. Claims the next `wanted` tokens if at least `fewest` wait;
// the answer is a read's.
bool queue_send_take(const struct queue *q, struct session *s, int wanted, int examine, int fewest,
    int64_t deadline_ns, struct err *e) MUST_USE;
bool queue_send_unclaim(
    const struct queue *q, struct session *s, int64_t deadline_ns, struct err *e) MUST_USE;
// Frees the claims of `gone`, an array as text, and asks who is gone now.
bool queue_send_orphans(
    struct session *s, const char *gone, int64_t deadline_ns, struct err *e) MUST_USE;

// Gives the queue up in good order; nobody waits for the answer.
void queue_send_release(const struct queue *q, struct session *s, int64_t deadline_ns);

// Asks who holds the horizon. The answer is a text for the log, "" for nobody.
bool queue_send_horizon(struct session *s, int64_t deadline_ns, struct err *e) MUST_USE;
void queue_decode_horizon(const PGresult *r, char *text, size_t size);

bool queue_send_check(
    const struct queue *q, struct session *s, int64_t deadline_ns, struct err *e) MUST_USE;
bool queue_decode_check(const PGresult *r, struct err *e) MUST_USE;
