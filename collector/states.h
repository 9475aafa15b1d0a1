// The states of the collector and what they share. Internal: only collector.c
// (the loop), connect.c, fetch.c and deliver.c include this.
//
//   BACK_OFF → CONNECT → LISTEN → STAND_BY → FETCH → WRITE → ADVANCE → …
//                                              ↑ ↓                ↓
//                                              WAIT ← ← ← ← ← ← ← ←
//
// A step looks at what has arrived, sends what is to be sent, and names the
// next state; it never waits. Losing the session leads to BACK_OFF from
// everywhere, but a line that was begun is finished first.
#pragma once

#include "backoff.h"
#include "base/buf.h"
#include "base/clock.h"
#include "collector.h"
#include "gone.h"
#include "line.h"
#include "output.h"
#include "pooler.h"
#include "queue.h"
#include "session.h"
#include "window.h"

enum state { BACK_OFF, CONNECT, LISTEN, STAND_BY, WAIT, FETCH, WRITE, ADVANCE, STATES };

// Why the cursor is moved.
enum advance_reason {
    ADVANCE_PASSED,    // nothing of the batch can be sent
    ADVANCE_WRITTEN,   // its line is out
    ADVANCE_RECOVERED, // its line was out before the session before this one ended
};

struct collector {
    const struct config *config;
    int64_t now_ns;  // of this round of the loop
    int64_t wake_ns; // the next round comes at this time, if nothing happens
    enum state state;
    int signal_fd;

    struct session session;
    struct queue queue;
    struct window window;
    struct output output;
    struct sign sign;
    struct backoff backoff;
    struct buf line;

    // BACK_OFF, and the second try of a statement.
    int64_t retry_ns;

    // LISTEN
    struct pooler pooler;
    bool greeted; // the session is known to be our own, its set-up is sent

    // STAND_BY
    int64_t free_ns;    // since when nobody has the queue; CLOCK_NEVER: somebody does
    int64_t lock_at_ns; // when to look again
    bool locking;       // an answer is awaited
    bool claimed;       // the queue is ours
    bool standing_by;   // somebody else has it, or may come back for it

    bool complained;  // the last session ended with something a person has to mend
    int silent_hosts; // how many of a list of hosts are tried last
    bool silent;      // or because nothing was heard from the server
    bool ended;       // or after its server had answered, by somebody else

    // WAIT
    int64_t horizon_ns; // how often to look while something waits behind it; 0: nothing does
    int64_t horizon_at_ns;
    int64_t horizon_since_ns; // since when
    int64_t horizon_log_ns;   // when to ask who holds it

    // FETCH
    struct batch next;
    int64_t ready_ns; // when `next` was true; a line begun long after it might be another's
    int64_t asked_ns; // when the last read was sent
    int slow;         // answers in a row that took too long to be relied upon
    int held_up;      // lines in a row that were late before they were begun
    int wanted;       // tokens to ask for
    int examine;      // rows to look at for them
    bool ready;       // an answer is in `next`
    bool reading;     // an answer is awaited
    bool stale_read;  // and will be dropped
    bool claiming;    // the answer awaited, or in `next`, is a claim's
    bool follows;     // that read was sent behind a move
    bool ahead;       // the answer awaited, or in `early`, is to a read behind `next`
    PGresult *early;  // that answer, while `next` is in use
    bool backlog;     // more than the batch in hand is likely to wait, and answers are quick
    bool large;       // a batch was, since memory was given back last
    bool unclaim;     // claims are to be given back before the next read
    bool at_once;     // what waits after a connect is not held back

    struct gone gone;      // skip-locked
    int64_t orphans_at_ns; // when to look at the claims of others again

    bool built; // `line` holds that of `next`

    // ADVANCE
    bool unconfirmed;     // across sessions, so that nothing is written twice:
    struct batch written; // its line is out, its passing is not confirmed
    struct passed passed; // since the last line of the log about it
    int64_t dead_letters;
    int64_t passed_log_ns; // when to write that line
    enum advance_reason reason;
    int advance_rows; // of `written` or, for other reasons, of `next`
    bool advancing;   // an answer is awaited
    bool advanced;    // it was yes

    // TERM or INT came.
    bool stopping;
    bool done;
    enum collector_exit exit;
    int64_t stop_ns;
};

// An answer that takes longer is as good as none.
static inline int64_t state_deadline_ns(const struct collector *c)
{
    return c->now_ns + 5 * NS_PER_S;
}

// Others leave us the grace from the moment our session ends. A line is begun
// within half of that since the database last said that it is ours to begin.
static inline int64_t state_stale_ns(const struct collector *c)
{
    return clock_min(250 * NS_PER_MS, c->config->grace_ms * NS_PER_MS / 2);
}

// So many in a row are too late by chance; more, and it is always so.
#define STATE_SLOW_MAX 3

static inline void state_wake_at(struct collector *c, int64_t at_ns)
{
    c->wake_ns = clock_min(c->wake_ns, at_ns);
}

// connect.c: from nothing to a session that owns the queue.
bool connect_step_back_off(struct collector *c, struct err *e) MUST_USE;
bool connect_step(struct collector *c, struct err *e) MUST_USE;
bool connect_step_listen(struct collector *c, struct err *e) MUST_USE;
bool connect_step_stand_by(struct collector *c, struct err *e) MUST_USE;
bool connect_on_lock(struct collector *c, const PGresult *result, struct err *e) MUST_USE;
bool connect_on_confirm(struct collector *c, const PGresult *result, struct err *e) MUST_USE;
bool connect_on_restamp(struct collector *c, const PGresult *result, struct err *e) MUST_USE;
bool connect_on_switch(struct collector *c, const PGresult *result, struct err *e) MUST_USE;
bool connect_on_claim(struct collector *c, const PGresult *result, struct err *e) MUST_USE;
void connect_lose(struct collector *c, const struct err *e); // closes and backs off
void connect_back_off(struct collector *c);
void connect_leave(struct collector *c); // at the end, in good order

// fetch.c: when to read, and what becomes of what was read.
bool fetch_step_wait(struct collector *c, struct err *e) MUST_USE;
bool fetch_step(struct collector *c, struct err *e) MUST_USE;
bool fetch_send(struct collector *c, struct err *e) MUST_USE;
bool fetch_send_ahead(struct collector *c, struct err *e) MUST_USE; // if it is likely to pay
bool fetch_take_early(struct collector *c, struct err *e) MUST_USE; // `next` has become free
void fetch_on_horizon(struct collector *c, const PGresult *result);
bool fetch_on_read(struct collector *c, PGresult *result, struct err *e) MUST_USE;
void fetch_on_orphans(struct collector *c, const PGresult *result);
bool fetch_claim(struct collector *c, int wanted, int fewest, struct err *e) MUST_USE;
bool fetch_retry(struct collector *c, struct err *e) MUST_USE; // was it a matter for a second try?
void fetch_drop(struct collector *c);   // the batch that is ready, and what was read behind it
void fetch_forget(struct collector *c); // that, and an answer to come

// deliver.c: from a batch to a line, from a line to a moved cursor.
bool deliver_prepare(struct collector *c, struct err *e) MUST_USE; // the line of a full `next`
bool deliver_begin_line(struct collector *c, struct err *e) MUST_USE;
bool deliver_step_write(struct collector *c, struct err *e) MUST_USE;
void deliver_start_advance(struct collector *c, enum advance_reason reason, int rows);
bool deliver_step_advance(struct collector *c, struct err *e) MUST_USE;
bool deliver_on_advance(struct collector *c, const PGresult *result, struct err *e) MUST_USE;
void deliver_count_passed(struct collector *c, const struct passed *p);
void deliver_log_passed(struct collector *c);
