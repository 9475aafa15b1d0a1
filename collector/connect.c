#include "states.h"

#include <inttypes.h>

#include "base/log.h"

#define LOCK_POLL_NS (100 * NS_PER_MS) // how often a stand-by looks at the lock

static bool open_session(struct collector *c, struct err *e)
{
    queue_new_session(&c->queue);
    c->free_ns = CLOCK_NEVER;
    return session_open(&c->session, c->config->database_url, c->now_ns, e);
}

bool connect_step(struct collector *c, struct err *e)
{
    if (!c->session.up)
        return true;
    c->state = LISTEN;
    return queue_send_setup(&c->queue, &c->session, state_deadline_ns(c), e);
}

bool connect_step_listen(struct collector *c, struct err *e)
{
    (void)e;
    if (c->session.count > 0)
        return true;
    log_line("PG", "connected");
    c->lock_at_ns = c->now_ns;
    c->state = STAND_BY;
    return true;
}

// An owner that lost its session may come back at any time; others leave it the
// grace, so that it can confirm what it has written.
static bool may_take(const struct collector *c)
{
    if (c->owner || !c->standing_by)
        return true;
    return c->free_ns != CLOCK_NEVER && c->now_ns - c->free_ns >= c->config->grace_ms * NS_PER_MS;
}

bool connect_step_stand_by(struct collector *c, struct err *e)
{
    if (c->claimed) {
        c->state = FETCH;
        return true;
    }
    if (c->locking)
        return true;
    if (c->now_ns < c->lock_at_ns) {
        state_wake_at(c, c->lock_at_ns);
        return true;
    }
    c->locking = true;
    return queue_send_lock(&c->queue, &c->session, may_take(c), state_deadline_ns(c), e);
}

bool connect_on_lock(struct collector *c, const PGresult *result, struct err *e)
{
    bool took = may_take(c);
    bool free;

    c->locking = false;
    c->lock_at_ns = c->now_ns + LOCK_POLL_NS;
    if (!queue_decode_lock(&c->queue, result, &free, e))
        return false;
    if (free && took) {
        c->locking = true;
        return queue_send_claim(&c->queue, &c->session, state_deadline_ns(c), e);
    }
    if (!c->standing_by)
        log_line("QUEUE", "standing by: another session has the queue");
    c->standing_by = true;
    if (!free)
        c->free_ns = CLOCK_NEVER;
    else if (c->free_ns == CLOCK_NEVER)
        c->free_ns = c->now_ns;
    return true;
}

bool connect_on_claim(struct collector *c, const PGresult *result, struct err *e)
{
    c->locking = false;
    if (!queue_decode_claim(&c->queue, result, e))
        return false;
    c->claimed = c->owner = c->at_once = true;
    c->standing_by = false;
    if (!c->complained)
        backoff_reset(&c->backoff);
    window_restart(&c->window, c->now_ns);
    c->wanted = c->queue.limit;
    c->examine = c->queue.rows_max;
    c->horizon_ns = 0;
    log_line("QUEUE", "collecting '%s' from token %" PRId64 " on, epoch %" PRId64, c->queue.name,
        c->queue.cursor.id, c->queue.epoch);
    return true;
}

void connect_back_off(struct collector *c)
{
    fetch_forget(c);
    c->state = BACK_OFF;
    c->retry_ns = c->now_ns + backoff_next_ns(&c->backoff);
    log_line("PG", "reconnecting in %" PRId64 " ms", (c->retry_ns - c->now_ns) / NS_PER_MS);
}

void connect_lose(struct collector *c, const struct err *e)
{
    log_line("PG", "%s: %s", c->session.up ? "lost" : "cannot connect", e->text);
    session_close(&c->session);
    c->advancing = c->locking = c->claimed = false;
    // A line that was begun is finished first; then its batch is unconfirmed.
    if (c->state == WRITE && c->output.done > 0)
        return;
    output_cancel(&c->output);
    connect_back_off(c);
}

bool connect_step_back_off(struct collector *c, struct err *e)
{
    if (c->now_ns < c->retry_ns) {
        state_wake_at(c, c->retry_ns);
        return true;
    }
    c->state = CONNECT;
    return open_session(c, e);
}
