// The data that the steps share, and each step's own part of it. Internal. The steps are in these
// files:
//
//     turn.c           stand by
//     bell_requests.c  the bell
//     take.c, take_answer.c, settle.c, in_doubt.c, peers.c, sender.c, answers.c  serve
//     collect.c        serve, as a whole, and the end
//     collector.c      back off, connect, set up, and the loop
//
// A step looks at what has arrived, sends what is to be sent, and gives the next state. It never
// waits, and does not assign the state.
#pragma once

#include "base/log.h"
#include "loop/collector.h"
#include "loop/in_doubt.h"
#include "loop/link.h"
#include "loop/peers.h"
#include "loop/sender.h"
#include "loop/settle.h"
#include "loop/take.h"
#include "loop/turn.h"
#include "metrics/tally.h"
#include "queue/doubt.h"
#include "queue/lines.h"
#include "queue/queue.h"
#include "timing/bell.h"
#include "timing/window.h"

// How long the database has, at the end, to record what remains.
#define LEAVE_NS (150 * NS_PER_MS)

struct collector {
    const struct config *config;
    struct metrics *metrics;
    int64_t now_ns;  // when this round of the loop began
    int64_t wake_ns; // the next round comes at this time, if nothing happens
    enum state state;
    int signal_fd;
    struct queue queue;
    struct window window;
    struct link link;
    struct turn turn;
    struct bell bell;
    struct doubt doubt; // tokens that earlier sessions wrote, and that are not settled
    struct tally tally;
    struct lines lines;
    struct taking take;
    struct settle settle;
    struct in_doubt in_doubt;
    struct peers peers;
    struct sender sender;
    bool announce_changed; // mailroom_announce was called since the last check was sent
    struct ending {
        enum {
            RUNNING,
            STOPPING,  // lines that were begun are finished, and their answers awaited
            RETURNING, // with answers: our child is ended, and unanswered tokens are given back
            LEAVING,   // with answers: the database records what was given back
            ENDED,
        } step;
        bool returned; // tokens were given back; without an error the exit code is then 75
        int exit;      // the exit code
        int64_t at_ns; // STOPPING, LEAVING: when that step ends, even if something is not done
    } ending;
};

// Returns the deadline for the answer to a request that is sent now: a second after the time at
// which the server cancels the statement by itself.
static inline int64_t work_deadline_ns(const struct collector *c)
{
    return c->now_ns + NS_PER_MS * (queue_patience_ms(&c->queue) + 1000);
}

// Returns how long a collector may neither move the cursor nor renew its lease before others take
// over. A hung collector keeps the queue for no longer than a lost connection can go unnoticed:
// the interval of the health checks and 5 s.
static inline int64_t work_lease_ns(const struct config *config)
{
    return NS_PER_MS * clock_min(config->lease_ms, config->healthcheck_interval_ms + 5000);
}

// Returns true, and logs the error, if the failed statement may succeed when it is sent again in
// this session.
static inline bool work_may_retry(const struct err *e)
{
    if (e->kind != ERR_SQL || session_remedy(e->sqlstate) != REMEDY_RETRY)
        return false;
    log_line("PG", "trying again: %s", e->text);
    return true;
}

// Lets the next round of the loop begin at this time at the latest.
static inline void work_wake_at(struct collector *c, int64_t at_ns)
{
    c->wake_ns = clock_min(c->wake_ns, at_ns);
}

static inline void work_count(struct collector *c, enum meter_id id, double n)
{
    meters_add(&c->metrics->meters, id, n);
}

// True once the end has begun.
static inline bool work_stopping(const struct collector *c)
{
    return c->ending.step != RUNNING;
}
