// The data that the parts of leased mode share, and each module's own part. Internal.
//
//     join.c      from no session to one that has joined the queue
//     take.c      the next line
//     database.c  all other requests, and what arrives
//     sender.c    lines out, answers in
//     leased.c    the loop, the end
//     validate.c  what is asserted in each round
#pragma once

#include "backoff.h"
#include "base/clock.h"
#include "lease/child.h"
#include "lease/due.h"
#include "lease/fill.h"
#include "lease/flight.h"
#include "lease/leased.h"
#include "lease/outbox.h"
#include "lease/retry.h"
#include "lease/watch.h"
#include "link.h"
#include "output.h"

// The request to which an answer of the database belongs.
enum request {
    REQUEST_SELF,
    REQUEST_SETTINGS,
    REQUEST_SCHEMA,
    REQUEST_LANES,
    REQUEST_JOIN,
    REQUEST_LEASE,
    REQUEST_ANSWER,
    REQUEST_RENEW,
    REQUEST_OTHERS,
    REQUEST_FREE,
    REQUEST_LEAVE,
    REQUEST_BELL,
    REQUESTS
};

// How far the session is: from none to one that has joined the queue.
struct join {
    enum join_state {
        JOIN_BACK_OFF,
        JOIN_CONNECT,
        JOIN_GREET, // finds out whether a pooler lends the session to others
        JOIN_ASK,   // the set-up and the request to join are sent
        JOIN_DONE,
    } state;
    char pid[16];  // the process id of our backend
    bool recorded; // the row in `runs` is written
    bool recheck;  // mailroom_announce was called since we last asked for the bell
};

// The facts that decide when the next line is leased.
struct take {
    struct fill fill;
    struct sign sign;
    struct due due;
    int64_t budget_ns; // nothing is leased before this time
    unsigned lines;    // how many lines were leased
};

// Signs of life. The session gives its own by answering, and we give ours by renewing our lease.
struct heartbeat {
    int64_t sent_ns[REQUESTS]; // when the last request of each kind was sent
    int64_t asked_ns;          // when the request that was answered last was sent
    int64_t renew_at_ns;       // when to renew our lease
    int64_t check_at_ns;       // when the session must show that it is alive
    int slow;                  // how many answers in a row came too late to begin a line
};

// The other collectors of the queue.
struct others {
    struct watch watch;
    int64_t look_at_ns; // when to look at them next; CLOCK_NEVER: no look is planned
};

// The sender: a child of ours, or the program that reads our output.
struct sender {
    enum sender_state {
        SENDER_AWAY,  // our child is to be started at start_at_ns
        SENDER_HERE,  // our child runs, or there is no command
        SENDER_ENDED, // no other sender will be started
    } state;
    int64_t start_at_ns;
    char *const *command; // NULL: standard output and input
    struct child child;
    struct backoff backoff;
    struct output output;
    struct flight_line *writing; // the line of which the output holds a part; NULL: none
    int in;                      // where answers are read; -1: none
    struct buf input;
    int64_t numbers;  // how many lines went to this sender: the last one has this number
    int64_t answered; // how many tokens were answered since the start
    bool heard;       // an answer came from the reader of our output
    struct retry retry;
};

// The steps of the end, after TERM or an error.
struct ending {
    enum stop {
        STOP_NOT,
        STOP_WAITING,   // answers to the lines that are out are awaited
        STOP_RETURNING, // our child is ended, and unanswered tokens are given back
        STOP_LEAVING,   // the database records what was given back
        STOP_DONE,
    } step;
    int64_t at_ns; // when WAITING and LEAVING end, even if something is not done
    bool returned; // something was given back
    enum collector_exit exit;
};

struct leased {
    const struct config *config;
    struct metrics *metrics;
    int signal_fd;
    int64_t now_ns;  // when this round of the loop began
    int64_t wake_ns; // the next round comes at this time, if nothing happens
    char owner[24];  // our number, as text for the database
    struct link link;
    struct join join;
    struct take take;
    struct heartbeat heartbeat;
    struct others others;
    struct flight flight;
    struct outbox outbox;
    struct sender sender;
    struct ending ending;
};

// Asserts in each round that what is in flight fits the states.
//
//     join      session                     requests
//     BACK_OFF  none                        none
//     CONNECT   begun, up in the last step  none
//     GREET     up; maybe a second one      SELF
//     ASK       up                          those of the set-up, JOIN
//     DONE      up; its run is recorded     all others
//
//     sender    child                       lines
//     AWAY      none                        none is OUT
//     HERE      runs, if there is a command the one being written is OUT or, answered early, OVER
//     ENDED     none; the end has begun     any
//
// A line is asked for only while none is READY or being written; so at most one is READY, and READY
// and OUT together are at most MAILROOM_IN_FLIGHT. Results are in a statement only while its answer
// is awaited.
void leased_validate(const struct leased *l); // validate.c

static inline void leased_wake_at(struct leased *l, int64_t at_ns)
{
    l->wake_ns = clock_min(l->wake_ns, at_ns);
}

static inline void leased_count(struct leased *l, enum meter_id id)
{
    meters_add(&l->metrics->meters, id, 1);
}

static inline bool leased_awaits(const struct leased *l, enum request request)
{
    return session_awaits(&l->link.session, (int)request);
}

// Returns how long a statement may take: 4 s, and 1 ms for each token of a line, because each may
// become a row of its own. The server then cancels it.
static inline int64_t leased_patience_ms(const struct leased *l)
{
    return 4000 + l->config->batch_limit;
}

// Returns the deadline of a request that is sent now. Without an answer by then, the session counts
// as lost.
static inline int64_t leased_deadline_ns(const struct leased *l)
{
    return l->now_ns + (leased_patience_ms(l) + 1000) * NS_PER_MS;
}

// Notes when the next request is sent.
static inline void leased_stamp(struct leased *l, enum request request)
{
    l->heartbeat.sent_ns[request] = l->now_ns;
}

// Sends one statement by itself.
bool leased_ask(struct leased *l, enum request request, const char *sql, struct session_params p,
    int64_t deadline_ns, struct err *e) MUST_USE; // database.c

// join.c
bool join_step(struct leased *l, struct err *e) MUST_USE;
void join_lose(struct leased *l, const struct err *e); // ends the session because of an error
bool join_on_self(struct leased *l, const PGresult *r, struct err *e) MUST_USE;
bool join_on_lanes(const struct leased *l, const PGresult *r, struct err *e) MUST_USE;
bool join_on_join(struct leased *l, const PGresult *r, struct err *e) MUST_USE;
bool join_on_bell(const PGresult *r, struct err *e) MUST_USE;

// take.c
bool take_step(struct leased *l, struct err *e) MUST_USE; // asks for the next line, if it may
bool take_on_lease(struct leased *l, const PGresult *r, struct err *e) MUST_USE;

// database.c
bool database_step(struct leased *l, struct err *e) MUST_USE;
bool database_serve(struct leased *l, struct err *e) MUST_USE; // deals with answers that arrived
bool database_fresh(struct leased *l, struct err *e);          // true when a line may be begun now
bool database_renew(struct leased *l, struct err *e) MUST_USE;
bool database_leave(struct leased *l, struct err *e) MUST_USE;

// sender.c
bool sender_step(struct leased *l, struct err *e) MUST_USE;  // starts the sender, writes to it
bool sender_serve(struct leased *l, struct err *e) MUST_USE; // deals with its answers
bool sender_time_out(struct leased *l, struct err *e) MUST_USE;
bool sender_return_ready(struct leased *l, const char *why, struct err *e) MUST_USE;
bool sender_return_all(struct leased *l, const char *why, struct err *e) MUST_USE;
bool sender_lost(struct leased *l, struct err *e) MUST_USE; // call it when the sender has ended
bool sender_result(struct leased *l, struct flight_line *line, struct flight_token *t,
    enum result_kind kind, const char *text, struct err *e) MUST_USE;
