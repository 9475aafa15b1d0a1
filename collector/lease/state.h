// What the parts of leased mode share. Internal: leased.c (the loop), join.c (from no
// session to one that works), take.c (lines), database.c (all other requests, and what
// arrives) and sender.c (lines out, answers in).
#pragma once

#include "backoff.h"
#include "base/clock.h"
#include "lease/child.h"
#include "lease/fill.h"
#include "lease/flight.h"
#include "lease/leased.h"
#include "lease/outbox.h"
#include "lease/retry.h"
#include "lease/watch.h"
#include "output.h"
#include "pooler.h"
#include "session.h"

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
    REQUESTS
};

// From no session to one that has joined the queue.
enum link { LINK_BACK_OFF, LINK_CONNECT, LINK_GREET, LINK_JOIN, LINK_UP };

// The sender: a child of ours, or the program that reads our output.
enum sender_state {
    SENDER_AWAY, // our child is to be started at sender_at_ns
    SENDER_HERE,
    SENDER_ENDED, // the sender has ended for good
};

// The end: TERM came, and unanswered tokens are waited for until stop_ns.
enum stop { STOP_NOT, STOP_WAITING, STOP_RETURNING, STOP_LEAVING, STOP_DONE };

struct leased {
    const struct config *config;
    struct metrics *metrics;
    char *const *command; // NULL: standard output and input
    int signal_fd;
    int64_t now_ns;  // of this round
    int64_t wake_ns; // the next round comes at this time, if nothing happens

    struct session session;
    struct pooler pooler;
    struct backoff backoff;
    enum link link;
    int64_t retry_ns;
    char owner[24];             // our number, as text for the database
    char pid[16];               // our backend's pid
    bool started;               // the row in `runs` is written
    unsigned awaited[REQUESTS]; // the answers that are awaited

    struct fill fill;
    struct flight flight;
    struct outbox outbox;
    struct watch watch;
    struct retry retry;
    struct sign sign;

    int64_t asked_ns; // when the request that was answered last was sent
    int64_t sent_ns[REQUESTS];
    int64_t renew_at_ns;
    int64_t others_at_ns; // the next look at other collectors; CLOCK_NEVER: none is planned
    int64_t complete_ns;  // all that was due before this is taken; CLOCK_NEVER: unknown
    int64_t budget_ns;    // nothing is leased before this time
    unsigned lines;       // how many lines were leased
    int64_t check_at_ns;  // when the session must show that it is alive
    int slow;             // answers in a row that came too late to begin a line

    struct child child;
    enum sender_state sender;
    int64_t sender_at_ns;
    struct backoff sender_backoff;
    struct output output;
    struct flight_line *writing; // the line of which the output holds a part; NULL: none
    int in;                      // where answers are read; -1: none
    struct buf input;
    int64_t numbers;  // lines that went to this sender
    int64_t answered; // tokens, ever
    bool heard;       // an answer came from the reader of our output

    enum stop stop;
    int64_t stop_ns;
    bool returned; // something was given back at the end
    enum collector_exit exit;
};

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
    return l->awaited[request] > 0;
}

// An answer that takes longer counts as none.
static inline int64_t leased_deadline_ns(const struct leased *l)
{
    return l->now_ns + 5 * NS_PER_S;
}

// Notes the kind of the next request.
static inline void leased_expect(struct leased *l, enum request request)
{
    l->awaited[request]++;
    l->sent_ns[request] = l->now_ns;
}

// Sends one statement by itself.
bool leased_ask(struct leased *l, enum request request, const char *sql, struct session_params p,
    int64_t deadline_ns, struct err *e) MUST_USE; // database.c

// join.c
bool join_step(struct leased *l, struct err *e) MUST_USE;
void join_lose(struct leased *l, const struct err *e); // the session
bool join_on_self(struct leased *l, const PGresult *r, struct err *e) MUST_USE;
bool join_on_schema(const PGresult *r, struct err *e) MUST_USE;
bool join_on_lanes(const struct leased *l, const PGresult *r, struct err *e) MUST_USE;
bool join_on_join(struct leased *l, const PGresult *r, struct err *e) MUST_USE;

// take.c
bool take_step(struct leased *l, struct err *e) MUST_USE; // asks for the next line, if it may
bool take_on_lease(struct leased *l, const PGresult *r, struct err *e) MUST_USE;

// database.c
bool database_step(struct leased *l, struct err *e) MUST_USE;
bool database_serve(struct leased *l, struct err *e) MUST_USE; // what has arrived
bool database_fresh(struct leased *l, struct err *e);          // a line may be begun now
bool database_leave(struct leased *l, struct err *e) MUST_USE;

// sender.c
bool sender_step(struct leased *l, struct err *e) MUST_USE;  // starts it, writes to it
bool sender_serve(struct leased *l, struct err *e) MUST_USE; // its answers
bool sender_time_out(struct leased *l, struct err *e) MUST_USE;
bool sender_return_ready(struct leased *l, const char *why, struct err *e) MUST_USE;
bool sender_return_all(struct leased *l, const char *why, struct err *e) MUST_USE;
bool sender_lost(struct leased *l, struct err *e) MUST_USE; // it has ended
bool sender_result(struct leased *l, struct flight_line *line, struct flight_token *t,
    enum result_kind kind, const char *text, struct err *e) MUST_USE;
