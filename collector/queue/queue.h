// The queue in the database: what is asked of it, and what the answers mean. queue_lines.h has the
// requests that call the queue's functions.
//
// Requests go through a session. The session returns each answer with the tag of its request, and
// the functions here decode the answer.
#pragma once

#include "process/holder.h"
#include "session/session.h"
#include "settings/config.h"
#include "settings/policy.h"

// The purpose of a request. The session returns it as the tag of the answer.
enum queue_request {
    QUEUE_QUIET, // the answer matters only if it is an error
    QUEUE_SCHEMA,
    QUEUE_SELF,
    QUEUE_CHECK,
    QUEUE_BELL,
    QUEUE_SILENT,
    QUEUE_JOIN,
    QUEUE_PEERS,
    QUEUE_TAKE,     // a take, or a read
    QUEUE_SETTLED,  // lines are settled or given back
    QUEUE_ANSWERED, // answers are recorded
    QUEUE_IN_DOUBT,
};

struct queue {
    const char *name;    // jobs.job_type, borrowed
    const char *channel; // borrowed
    const struct policy *policy;
    int limit;                          // the batch limit
    const struct budget_config *budget; // borrowed; NULL: there is none
    const char *lanes_wanted;           // the lanes that the queue must have, borrowed; NULL: any
    bool lanes;                         // the queue has more than one lane
    int64_t ageing_ms;
    char number[24];             // our number: our deliveries and our lock carry it
    char self[HOLDER_LEN];       // the name of this process
    int64_t epoch;               // the epoch of our last claim
    struct seen {                // what the last answer to a try to claim the queue told
        char holder[HOLDER_LEN]; // who claimed the queue last; "": nobody
        int64_t epoch;
        int64_t progress; // rises with every move of the cursor and renewal of the lease
        bool waits;       // some tokens are not passed
    } seen;
    struct backend { // the backend of a session, to end it if it outlives that session
        char pid[16];
        char since[40];     // when it began: another backend may get the same pid later
    } backend, predecessor; // the predecessor's pid is "" when there is none
    char bell[24];          // the number of the bell's lock; "": producers use no bell
    char bell_taken[24];    // the number of the lock that we asked for last
    bool set_up;            // all requests of the session's set-up were answered
};

// One line in this many goes to a lower lane that has a token which has waited for the ageing
// bound.
#define QUEUE_AGED_TURN 4

// True if producers use a bell, and so announce a token only while somebody holds it (bell.h).
static inline bool queue_has_bell(const struct queue *q)
{
    return q->bell[0] != '\0';
}

// Borrows the strings of `config`. Draws our number, and makes our name.
bool queue_init(struct queue *q, const struct config *config, struct err *e) MUST_USE;

// Returns how long a statement may take: 4 s, and 100 us for each token of a batch. After that the
// server cancels the statement. When an answer takes a second longer than that, the server is taken
// for lost.
int64_t queue_patience_ms(const struct queue *q);

// Call it when a new session begins. If the last session was set up, its backend becomes the
// predecessor, which the new session ends.
void queue_new_session(struct queue *q);

// Sends in one trip everything that a session needs before it can claim or join the queue.
bool queue_send_setup(
    const struct queue *q, struct session *s, int64_t deadline_ns, struct err *e) MUST_USE;
// Fails with ERR_SCHEMA when a migration is missing, and names its file.
bool queue_decode_schema(const PGresult *r, struct err *e) MUST_USE;

// The first request of a session asks which backend serves it; q->backend keeps the answer.
bool queue_send_self(struct session *s, int64_t deadline_ns, struct err *e) MUST_USE;
bool queue_decode_self(struct queue *q, const PGresult *r, struct err *e) MUST_USE;

// Sets ERR_USAGE, which says that the queue has no row in the table jobs, and returns false.
bool queue_fail_unknown(const char *name, struct err *e);
// Fails with ERR_USAGE if `lanes`, which the queue has, are not `wanted`; NULL: any are wanted.
bool queue_check_lanes(const char *wanted, const char *lanes, struct err *e) MUST_USE;

// Sets ERR_CONNECTION, because the queue is not ours any more. Returns false.
bool queue_fail_lost(const struct queue *q, struct err *e);
// Sets ERR_USAGE, because the queue is used in this other mode. Returns false.
bool queue_fail_other_mode(const struct queue *q, const char *mode, struct err *e);
// Sets how long the statements that follow may take: as long as they need (for_ever), or as usual.
bool queue_send_patience(
    const struct queue *q, struct session *s, bool for_ever, struct err *e) MUST_USE;

// Asks for the bell (bell.h).
bool queue_send_bell(
    struct queue *q, struct session *s, int64_t deadline_ns, struct err *e) MUST_USE;
// Sets *silent_below to what bell_answered needs; 0: somebody else has the bell.
bool queue_decode_bell(const PGresult *r, uint64_t *silent_below, struct err *e) MUST_USE;
// Lets the bell go. Nobody waits for the answer.
bool queue_send_bell_let_go(
    const struct queue *q, struct session *s, int64_t deadline_ns, struct err *e) MUST_USE;
// Asks whether a transaction with a number below this one still runs and may have been silent.
bool queue_send_silent(
    struct session *s, uint64_t below, int64_t deadline_ns, struct err *e) MUST_USE;
bool queue_decode_silent(const PGresult *r, bool *silent, struct err *e) MUST_USE;

// The health check: proves that the session works and that its LISTEN is registered, and asks how
// tokens are announced; q->bell keeps that.
bool queue_send_check(
    const struct queue *q, struct session *s, int64_t deadline_ns, struct err *e) MUST_USE;
bool queue_decode_check(struct queue *q, const PGresult *r, struct err *e) MUST_USE;
