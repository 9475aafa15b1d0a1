#include "turn.h"

#include <inttypes.h>
#include <string.h>

#include "base/log.h"
#include "collect.h"
#include "queue_lines.h"
#include "work.h"

#define LOCK_POLL_NS (100 * NS_PER_MS) // how often a stand-by looks at the lock
#define WATCH_NS NS_PER_S              // looks further apart do not count as watching
#define LOCK_SOON_NS (10 * NS_PER_MS)  // the pause while only an old backend still has to end

void turn_forget(struct collector *c)
{
    c->turn = (struct turn){.free_ns = CLOCK_NEVER, .still_ns = CLOCK_NEVER, .told = c->turn.told};
}

// True when no earlier holder can come back for the queue.
static bool abandoned(const struct collector *c)
{
    return strcmp(c->queue.seen.holder, c->queue.self) == 0 || holder_is_dead(c->queue.seen.holder);
}

// A holder that lost its session may come back at any time; others leave it the grace, so that it
// can confirm what it has written. A holder that keeps its session, but neither moves the cursor
// nor renews its lease while something waits, has lost the lease.
static enum queue_take what_is_due(const struct collector *c)
{
    const struct turn *t = &c->turn;

    if (t->free_ns != CLOCK_NEVER && (c->now_ns - t->free_ns >= c->config->grace_ms * NS_PER_MS ||
                                         holder_is_dead(c->queue.seen.holder)))
        return TAKE_GRACE;
    // Time counts only while we watched, because we may have been stopped ourselves.
    if (c->now_ns - t->looked_ns > WATCH_NS)
        return TAKE_FREE;
    if (t->still_ns != CLOCK_NEVER && c->now_ns - t->still_ns >= work_lease_ns(c->config))
        return TAKE_LEASE;
    return TAKE_FREE;
}

bool turn_stand_by(struct collector *c, enum state *next, struct err *e)
{
    struct turn *t = &c->turn;

    if (t->step == TURN_OURS) {
        *next = collect_uses_lines(c) ? SERVE : FETCH;
        return true;
    }
    if (t->step == TURN_ASKED)
        return true;
    if (c->now_ns < t->look_at_ns) {
        work_wake_at(c, t->look_at_ns);
        return true;
    }
    t->step = TURN_ASKED;
    if (collect_uses_lines(c))
        return peers_join(c, false, e);
    return queue_send_lock(&c->queue, &c->link.session, what_is_due(c), work_deadline_ns(c), e);
}

// Notes since when the queue is free, or since when its holder is idle while something waits.
static void watch(struct collector *c, enum queue_lock lock, const char *holder_before)
{
    struct turn *t = &c->turn;

    if (lock == LOCK_HELD)
        t->free_ns = CLOCK_NEVER;
    else if (t->free_ns == CLOCK_NEVER || strcmp(holder_before, c->queue.seen.holder) != 0)
        t->free_ns = c->now_ns;
    if (lock != LOCK_HELD || !c->queue.seen.waits)
        t->still_ns = CLOCK_NEVER;
    else if (t->still_ns == CLOCK_NEVER || t->progress != c->queue.seen.progress ||
             c->now_ns - t->looked_ns > WATCH_NS)
        t->still_ns = c->now_ns;
    t->looked_ns = c->now_ns;
    t->progress = c->queue.seen.progress;
}

bool turn_on_lock(struct collector *c, const PGresult *result, struct err *e)
{
    struct turn *t = &c->turn;
    char before[HOLDER_LEN];
    enum queue_lock lock;

    memcpy(before, c->queue.seen.holder, sizeof before);
    t->step = TURN_WATCH;
    t->look_at_ns = c->now_ns + LOCK_POLL_NS;
    if (!queue_decode_lock(&c->queue, result, &lock, e))
        return false;
    if (lock == LOCK_TAKEN) {
        t->step = TURN_ASKED;
        return queue_send_claim(&c->queue, &c->link.session, work_deadline_ns(c), e);
    }
    if (lock == LOCK_NEW || lock == LOCK_MOVED) {
        t->step = TURN_ASKED;
        log_line("QUEUE", "%s",
            lock == LOCK_NEW ? "first start on this queue; making its cursor"
                             : "the database came from another cluster; making a new cursor");
        return queue_send_settle(&c->queue, &c->link.session, e);
    }
    watch(c, lock, before);
    if (what_is_due(c) != TAKE_FREE) {
        t->look_at_ns = c->now_ns;
    } else if (!c->queue.policy->exclusive || abandoned(c)) {
        t->look_at_ns = c->now_ns + LOCK_SOON_NS;
    } else if (!t->told) {
        log_line("QUEUE", "standing by: another session has the queue");
        window_stood_by(&c->window);
        t->told = true;
    }
    return true;
}

bool turn_on_settle(struct collector *c, const PGresult *result, struct err *e)
{
    c->turn.step = TURN_WATCH;
    c->turn.look_at_ns = c->now_ns;
    if (!session_check_row(result, e))
        return false;
    if (!PQgetisnull(result, 0, 0))
        log_line("QUEUE", "made a new cursor; %s tokens wait", PQgetvalue(result, 0, 0));
    return true;
}

void turn_begin(struct collector *c)
{
    struct queue *q = &c->queue;

    c->turn.step = TURN_OURS;
    c->turn.told = false;
    c->turn.renewed_ns = c->now_ns;
    if (c->link.loss != LOSS_COMPLAINT)
        backoff_reset(&c->link.backoff);
    if (q->policy->exclusive)
        log_line("QUEUE", "collecting '%s', epoch %" PRId64, q->name, q->epoch);
    else
        log_line("QUEUE", "%s '%s' with others, as %s",
            q->policy->answers ? "leasing from" : "collecting", q->name, q->number);
}

bool turn_on_claim(struct collector *c, const PGresult *result, struct err *e)
{
    int64_t adopted;

    if (!queue_decode_claim(&c->queue, result, &adopted, e))
        return false;
    if (adopted > 0)
        log_line("QUEUE", "delivering %" PRId64 " tokens that others had taken", adopted);
    if (c->doubt.n > 0)
        return queue_send_doubt(&c->queue, &c->link.session, &c->doubt, work_deadline_ns(c), e);
    turn_begin(c);
    return true;
}

bool turn_on_doubt(struct collector *c, const PGresult *result, struct err *e)
{
    if (!queue_decode_doubt(&c->doubt, result, e))
        return false;
    turn_begin(c);
    return true;
}

bool turn_renew(struct collector *c, struct err *e)
{
    int64_t every_ns = work_lease_ns(c->config) / 3;

    if (c->turn.step != TURN_OURS || !c->link.session.up)
        return true;
    if (c->now_ns < c->turn.renewed_ns + every_ns) {
        work_wake_at(c, c->turn.renewed_ns + every_ns);
        return true;
    }
    // A short lease is due several times before one answer is late, so renewals must not pile up.
    if (session_awaits(&c->link.session, QUEUE_RENEW))
        return true;
    c->turn.renewed_ns = c->now_ns;
    return queue_send_renew(&c->queue, &c->link.session, work_deadline_ns(c), e);
}

bool turn_on_renew(struct collector *c, const PGresult *result, struct err *e)
{
    if (!session_check_row(result, e))
        return false;
    if (c->queue.policy->exclusive && strcmp(PQgetvalue(result, 0, 0), "1") != 0)
        return err_set(e, ERR_CONNECTION, "another collector has taken the queue over");
    return true;
}

// Gives the queue up only if everything is confirmed. Otherwise others leave us the grace, within
// which the server may still confirm the last batch.
void turn_leave(struct collector *c)
{
    struct err ignored;

    err_clear(&ignored);
    if (collect_uses_lines(c)) {
        bool left = c->turn.step == TURN_OURS && !collect_owes(c) &&
                    queue_send_leave(&c->queue, &c->link.session, "stopped", c->sender.answered,
                        work_deadline_ns(c), &ignored);
        (void)left; // if it fails, others wait for the grace
        return;
    }
    if (c->turn.step == TURN_OURS && c->ending.exit == COLLECTOR_OK)
        queue_send_release(&c->queue, &c->link.session, work_deadline_ns(c));
}
