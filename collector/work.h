// What the collector works with, in the parts that its steps own. Internal: only
// collector.c (the loop), connect.c, fetch.c and deliver.c include this.
//
// A step looks at what has arrived, sends what is to be sent, and returns the
// next state; it never waits, and it does not assign the state.
#pragma once

#include "backoff.h"
#include "base/buf.h"
#include "base/clock.h"
#include "bell.h"
#include "collector.h"
#include "doubt.h"
#include "line.h"
#include "output.h"
#include "owners.h"
#include "pooler.h"
#include "queue.h"
#include "session.h"
#include "window.h"

enum state {
    BACK_OFF, // no session, and it is too early for the next
    CONNECT,  // the session is being made
    SET_UP,   // its set-up was sent; first of all, whether it is our own
    STAND_BY, // looks whether the queue is ours to take
    FETCH,    // asks for a batch, and decides what becomes of the answer
    WAIT,     // sleeps until the window fires or a health check is due
    WRITE,    // gives the line to the output, as fast as it is taken
    STALL,    // the reader takes nothing: holds no batch until it does
    PASS,     // moves the cursor behind the batch, or confirms its delivery
    STATES
};

// connect.c: the way to a session, and why the last one was lost.
struct link {
    struct session session;
    struct pooler pooler;
    struct backoff backoff;
    int64_t retry_at_ns; // BACK_OFF
    int silent_hosts;    // how many of a list of hosts are tried last
    bool greeted;        // the session is known to be our own
    enum loss {
        LOSS_REFUSED,   // the server did not let us in, or refused a statement
        LOSS_ENDED,     // somebody ended a session that worked
        LOSS_SILENT,    // nothing was heard from the server
        LOSS_COMPLAINT, // a person has to mend something
    } loss;
};

// connect.c: whose queue is it?
struct turn {
    enum turn_step {
        TURN_WATCH, // others may have it
        TURN_ASKED, // an answer is awaited
        TURN_OURS,
    } step;
    int64_t look_at_ns; // when to look again
    int64_t free_ns;    // since when nobody has it; CLOCK_NEVER: somebody does
    int64_t still_ns;   // since when something waits and its holder does nothing
    int64_t looked_ns;  // the last look that told so
    int64_t progress;   // of the holder, at that time
    bool told;          // the log says that we stand by
    int64_t renewed_ns; // our own lease: when it, or the cursor, was moved last
};

// fetch.c: what was asked for, and what came of it.
struct fetch {
    enum asked {
        ASK_NOTHING,
        ASK_READ,
        ASK_AHEAD,      // behind `next`, which is not confirmed
        ASK_TAKE,       // for a batch of our own
        ASK_DELIVERY,   // for one that is left over
        ASK_OWNERS,     // who else has deliveries
        ASK_STALE,      // the answer will be dropped
        ASK_STALE_TAKE, // the same, and what it took is left over
    } asked;
    enum next_step {
        NEXT_EMPTY,
        NEXT_READY, // a batch is in `next`
        NEXT_BUILT, // and its line is in `line`
    } next_step;
    struct batch next;
    PGresult *early;  // the answer to ASK_AHEAD, while `next` is in use
    int wanted;       // tokens to ask for
    int examine;      // rows to look at for them
    int64_t asked_ns; // when the last request was sent
    int64_t next_asked_ns;
    int64_t ready_ns; // when `next` was true; a line begun long after it might be another's
    int64_t retry_at_ns;
    int slow;    // answers in a row that took too long to be relied upon
    int held_up; // lines in a row that were late before they were begun
    enum haste {
        HASTE_NONE,
        HASTE_FOLLOWS, // the read under way travels behind a move
        HASTE_BACKLOG, // more than the batch in hand is likely to wait, and answers are quick
    } haste;
    bool at_once; // what waits after a connect is not held back
    bool large;   // a batch was, since memory was given back last
};

// fetch.c: the deliveries that are left over.
struct leftovers {
    struct owners others;
    struct owner *whose; // of ASK_DELIVERY; NULL: ours
    bool ours;           // we have some of an earlier session, or of a stale answer
    int64_t look_at_ns;  // when to look at the other owners again
};

// deliver.c: what becomes of a batch after its line.
struct pass {
    enum pass_step { PASS_NONE, PASS_DUE, PASS_SENT, PASS_DONE } step;
    enum pass_subject {
        PASS_NEXT,    // nothing of it can be sent
        PASS_WRITTEN, // its line is out
    } subject;
    struct batch written; // its line is out, its passing is not confirmed
    int64_t retry_at_ns;
};

// deliver.c: what is counted for the log, at most once a second.
struct tally {
    struct passed passed;
    int64_t dead_letters;
    int64_t log_at_ns;
};

struct collector {
    const struct config *config;
    int64_t now_ns;  // of this round of the loop
    int64_t wake_ns; // the next round comes at this time, if nothing happens
    enum state state;
    int signal_fd;
    struct queue queue;
    struct window window;
    struct output output;
    struct sign sign;
    struct buf line;
    struct link link;
    struct turn turn;
    struct fetch fetch;
    struct leftovers left;
    struct bell bell;
    struct pass pass;
    struct doubt doubt; // written by sessions before this one, perhaps not passed
    struct tally tally;
    struct ending {
        enum { RUNNING, STOPPING, ENDED } step;
        enum collector_exit exit;
        int64_t at_ns; // from TERM or INT: when to end, whatever is not done
    } ending;
};

// An answer that takes longer is as good as none; large batches get longer.
static inline int64_t work_deadline_ns(const struct collector *c)
{
    return c->now_ns + 5 * NS_PER_S;
}

// Others take over from a holder that has not moved or renewed for so long.
static inline int64_t work_lease_ns(const struct config *config)
{
    return NS_PER_MS * clock_min(config->lease_ms, config->healthcheck_interval_ms + 5000);
}

// Others leave us the grace from the moment our session ends. A line is begun
// within half of that since the database last said that it is ours to begin.
static inline int64_t work_stale_ns(const struct collector *c)
{
    return clock_min(250 * NS_PER_MS, c->config->grace_ms * NS_PER_MS / 2);
}

// So many in a row are too late by chance; more, and it is always so.
#define WORK_SLOW_MAX 3

static inline void work_wake_at(struct collector *c, int64_t at_ns)
{
    c->wake_ns = clock_min(c->wake_ns, at_ns);
}

static inline bool work_stopping(const struct collector *c)
{
    return c->ending.step != RUNNING;
}

// connect.c: from nothing to a session that may collect.
bool connect_back_off(struct collector *c, enum state *next, struct err *e) MUST_USE;
bool connect_connect(struct collector *c, enum state *next, struct err *e) MUST_USE;
bool connect_set_up(struct collector *c, enum state *next, struct err *e) MUST_USE;
bool connect_stand_by(struct collector *c, enum state *next, struct err *e) MUST_USE;
bool connect_on_lock(struct collector *c, const PGresult *result, struct err *e) MUST_USE;
bool connect_on_settle(struct collector *c, const PGresult *result, struct err *e) MUST_USE;
bool connect_on_claim(struct collector *c, const PGresult *result, struct err *e) MUST_USE;
bool connect_on_doubt(struct collector *c, const PGresult *result, struct err *e) MUST_USE;
bool connect_renew(struct collector *c, struct err *e) MUST_USE; // if it is time
bool connect_on_renew(struct collector *c, const PGresult *result, struct err *e) MUST_USE;
void connect_lose(struct collector *c, const struct err *e); // closes; why is remembered
void connect_rest(struct collector *c);                      // sets the time of the next attempt
void connect_leave(struct collector *c);                     // at the end, in good order

// fetch.c: when to ask, and what becomes of the answer.
void fetch_begin(struct collector *c); // the queue is ours
bool fetch_wait(struct collector *c, enum state *next, struct err *e) MUST_USE;
bool fetch_fetch(struct collector *c, enum state *next, struct err *e) MUST_USE;
bool fetch_on_read(struct collector *c, PGresult *result, struct err *e) MUST_USE;
bool fetch_on_bell(struct collector *c, const PGresult *result, struct err *e) MUST_USE;
bool fetch_on_owners(struct collector *c, const PGresult *result, struct err *e) MUST_USE;
bool fetch_ahead(struct collector *c, struct err *e) MUST_USE;  // if it is likely to pay
bool fetch_follow(struct collector *c, struct err *e) MUST_USE; // behind a move, in its trip
bool fetch_ring(struct collector *c, struct err *e) MUST_USE;   // we shall not look for a while
bool fetch_retry(struct collector *c, struct err *e) MUST_USE;  // a matter for a second try?
void fetch_drop(struct collector *c);    // the batch that is ready, and what was read behind it
void fetch_abandon(struct collector *c); // an answer to come
void fetch_forget(struct collector *c);  // both

// deliver.c: from a batch to a line, from a line to a cursor that has moved.
bool deliver_write(struct collector *c, enum state *next, struct err *e) MUST_USE;
bool deliver_stall(struct collector *c, enum state *next, struct err *e) MUST_USE;
bool deliver_pass(struct collector *c, enum state *next, struct err *e) MUST_USE;
bool deliver_on_pass(struct collector *c, const PGresult *result, struct err *e) MUST_USE;
bool deliver_doubt(struct collector *c, struct err *e) MUST_USE; // the session was lost
void deliver_count_passed(struct collector *c, const struct passed *p);
void deliver_log_passed(struct collector *c);
