#include "states.h"

#include <inttypes.h>
#include <string.h>

#include "base/log.h"

#define LOCK_POLL_NS (100 * NS_PER_MS) // how often a stand-by looks at the lock
#define LOCK_SOON_NS (10 * NS_PER_MS)  // while only a backend has to end

static bool open_session(struct collector *c, struct err *e)
{
    queue_new_session(&c->queue);
    c->free_ns = CLOCK_NEVER;
    return session_open(&c->session, c->config->database_url, c->silent_hosts, c->now_ns, e);
}

bool connect_step(struct collector *c, struct err *e)
{
    if (!c->session.up)
        return true;
    c->state = LISTEN;
    c->greeted = false;
    return queue_send_self(&c->session, state_deadline_ns(c), e);
}

// Nothing is set up in a session that is not our own.
static bool greet(struct collector *c, struct err *e)
{
    if (!pooler_step(&c->pooler, c->config->database_url, c->silent_hosts,
            PQbackendPID(c->session.conn), c->queue.pid, c->now_ns)) {
        state_wake_at(c, c->pooler.deadline_ns);
        return true;
    }
    if (c->pooler.shared)
        return err_set(e, ERR_USAGE,
            "MAILROOM_DATABASE_URL leads to a pooler that lends our session to others, so "
            "notifications would get lost; connect to the server, or to a pool in session mode");
    c->greeted = true;
    return queue_send_setup(&c->queue, &c->session, state_deadline_ns(c), e);
}

bool connect_step_listen(struct collector *c, struct err *e)
{
    if (c->session.count > 0)
        return true;
    if (!c->greeted)
        return greet(c, e);
    c->queue.set_up = true;
    log_line("PG", "connected");
    c->lock_at_ns = c->now_ns;
    c->state = STAND_BY;
    return true;
}

// Nobody will come back for the queue but we ourselves.
static bool abandoned(const struct collector *c)
{
    return strcmp(c->queue.holder, c->queue.self) == 0 || holder_is_dead(c->queue.holder);
}

// A holder that lost its session may come back at any time; others leave it the
// grace, so that it can confirm what it has written.
static bool may_take(const struct collector *c)
{
    if (c->free_ns == CLOCK_NEVER)
        return false;
    return c->now_ns - c->free_ns >= c->config->grace_ms * NS_PER_MS ||
           holder_is_dead(c->queue.holder);
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

// Before the queue is claimed: does its state fit, and is something of the last
// session still to be confirmed? (With a cursor, the first read shows that.)
static bool settle_in(struct collector *c, enum queue_lock lock, struct err *e)
{
    if (lock == LOCK_UNUSED) {
        log_line("QUEUE", "nobody has used the queue yet; carrying what waits over to our mode");
        return queue_send_switch(&c->queue, &c->session, e);
    }
    if (lock == LOCK_MOVED) {
        log_line("QUEUE", "the tokens come from another cluster or database; renumbering them");
        return queue_send_restamp(&c->queue, &c->session, e);
    }
    // Then our claims are given back, but not before: if the confirmation fails,
    // they are what keeps others from writing the same again.
    if (c->queue.shared && c->unconfirmed)
        return queue_send_advance(&c->queue, &c->session, QUEUE_CONFIRM, &c->written, c->written.n,
            state_deadline_ns(c), e);
    return queue_send_claim(&c->queue, &c->session, state_deadline_ns(c), e);
}

bool connect_on_switch(struct collector *c, const PGresult *result, struct err *e)
{
    c->locking = false;
    c->lock_at_ns = c->now_ns;
    return session_check(result, e);
}

bool connect_on_restamp(struct collector *c, const PGresult *result, struct err *e)
{
    if (!session_check(result, e))
        return false;
    log_line("QUEUE", "renumbered; %s tokens wait", PQgetvalue(result, 0, 0));
    return settle_in(c, LOCK_TAKEN, e);
}

bool connect_on_confirm(struct collector *c, const PGresult *result, struct err *e)
{
    bool moved;

    if (!queue_decode_advance(&c->queue, result, &moved, e))
        return false;
    c->unconfirmed = false;
    batch_clear(&c->written);
    return queue_send_claim(&c->queue, &c->session, state_deadline_ns(c), e);
}

bool connect_on_lock(struct collector *c, const PGresult *result, struct err *e)
{
    char before[HOLDER_LEN];
    enum queue_lock lock;

    memcpy(before, c->queue.holder, sizeof before);
    c->locking = false;
    c->lock_at_ns = c->now_ns + LOCK_POLL_NS;
    if (!queue_decode_lock(&c->queue, result, &lock, e))
        return false;
    if (lock == LOCK_TAKEN || lock == LOCK_MOVED || lock == LOCK_UNUSED) {
        c->locking = true;
        return settle_in(c, lock, e);
    }
    if (lock == LOCK_HELD)
        c->free_ns = CLOCK_NEVER;
    else if (c->free_ns == CLOCK_NEVER || strcmp(before, c->queue.holder) != 0)
        c->free_ns = c->now_ns;
    if (may_take(c)) {
        c->lock_at_ns = c->now_ns;
    } else if (abandoned(c)) {
        c->lock_at_ns = c->now_ns + LOCK_SOON_NS;
    } else if (!c->standing_by) {
        log_line("QUEUE", "standing by: another session has the queue");
        c->standing_by = true;
    }
    return true;
}

bool connect_on_claim(struct collector *c, const PGresult *result, struct err *e)
{
    c->locking = false;
    if (!queue_decode_claim(&c->queue, result, e))
        return false;
    c->claimed = c->at_once = true;
    c->standing_by = false;
    if (!c->complained)
        backoff_reset(&c->backoff);
    window_restart(&c->window, c->now_ns);
    c->wanted = c->queue.limit;
    c->examine = c->queue.rows_max;
    c->horizon_ns = 0;
    c->gone.n = 0;
    c->orphans_at_ns = c->now_ns;
    if (c->queue.shared) {
        log_line("QUEUE", "collecting '%s' with others, as %s", c->queue.name, c->queue.claimant);
        return true;
    }
    log_line("QUEUE", "collecting '%s' from token %" PRId64 " on, epoch %" PRId64, c->queue.name,
        c->queue.cursor.id, c->queue.epoch);
    return true;
}

void connect_back_off(struct collector *c)
{
    int64_t cap_ns = BACKOFF_SOON_NS;

    if (c->complained || c->silent)
        cap_ns = BACKOFF_CAP_NS;
    else if (c->ended)
        cap_ns = BACKOFF_BRIEF_NS;

    fetch_forget(c);
    c->state = BACK_OFF;
    c->retry_ns = c->now_ns + backoff_next_ns(&c->backoff, cap_ns);
    log_line("PG", "reconnecting in %" PRId64 " ms", (c->retry_ns - c->now_ns) / NS_PER_MS);
}

void connect_lose(struct collector *c, const struct err *e)
{
    c->complained = session_remedy(e->sqlstate) == REMEDY_COMPLAIN;
    c->silent = session_silent(&c->session, c->now_ns);
    // Who ends sessions one after the other leaves none of them long; a short
    // pause is what lets one of them get as far as a batch.
    c->ended = strcmp(e->sqlstate, "57P01") == 0 ||
               (c->session.up && c->greeted && e->kind == ERR_CONNECTION);
    // libpq would begin with the host that does not answer again.
    if (c->silent && !c->session.up)
        c->silent_hosts++;
    log_line("PG", "%s: %s%s%s%s", c->session.up ? "lost" : "cannot connect", e->text,
        e->kind == ERR_SQL ? ", SQLSTATE " : "", e->kind == ERR_SQL ? e->sqlstate : "",
        c->complained ? "; this needs somebody's attention" : "");
    session_close(&c->session);
    pooler_close(&c->pooler);
    c->advancing = c->locking = c->claimed = false;
    // A line that was begun is finished first; then its batch is unconfirmed.
    if (c->state == WRITE && c->output.done > 0)
        return;
    output_cancel(&c->output);
    connect_back_off(c);
}

// What is not confirmed is ours to confirm when we come back, so the grace is
// only given up when nothing is left.
void connect_leave(struct collector *c)
{
    if (c->claimed && !c->unconfirmed && c->exit == COLLECTOR_OK)
        queue_send_release(&c->queue, &c->session, state_deadline_ns(c));
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
