#include "link.h"

#include <inttypes.h>
#include <string.h>

#include "base/log.h"
#include "work.h"

bool link_back_off(struct collector *c, enum state *next, struct err *e)
{
    struct link *l = &c->link;

    if (c->now_ns < l->retry_at_ns) {
        work_wake_at(c, l->retry_at_ns);
        return true;
    }
    queue_new_session(&c->queue);
    l->greeted = false;
    window_restart(&c->window, c->now_ns);
    *next = CONNECT;
    return session_open(&l->session, c->config->database_url, l->silent_hosts, c->now_ns, e);
}

bool link_connect(struct collector *c, enum state *next, struct err *e)
{
    if (!c->link.session.up)
        return true;
    *next = SET_UP;
    return queue_send_self(&c->link.session, work_deadline_ns(c), e);
}

// Sends the set-up. Fails, which ends the collector, if a pooler lends the session to others.
static bool greet(struct collector *c, struct err *e)
{
    struct link *l = &c->link;

    if (!pooler_step(&l->pooler, c->config->database_url, l->silent_hosts,
            PQbackendPID(l->session.conn), c->queue.backend.pid, c->now_ns)) {
        work_wake_at(c, l->pooler.deadline_ns);
        return true;
    }
    if (l->pooler.shared)
        return err_set(e, ERR_USAGE,
            "MAILROOM_DATABASE_URL leads to a pooler that lends our session to others, so "
            "notifications would get lost; connect to the server, or to a pool in session mode");
    l->greeted = true;
    return queue_send_setup(&c->queue, &l->session, work_deadline_ns(c), e);
}

bool link_set_up(struct collector *c, enum state *next, struct err *e)
{
    if (c->link.session.count > 0)
        return true;
    if (!c->link.greeted)
        return greet(c, e);
    c->queue.set_up = true;
    log_line("PG", "connected");
    *next = STAND_BY;
    return true;
}

void link_rest(struct collector *c)
{
    static const int64_t caps_ns[] = {
        [LOSS_REFUSED] = BACKOFF_SOON_NS,
        [LOSS_ENDED] = BACKOFF_BRIEF_NS,
        [LOSS_SILENT] = BACKOFF_CAP_NS,
        [LOSS_COMPLAINT] = BACKOFF_CAP_NS,
    };
    struct link *l = &c->link;

    l->retry_at_ns = c->now_ns + backoff_next_ns(&l->backoff, caps_ns[l->loss]);
    log_line("PG", "reconnecting in %" PRId64 " ms", (l->retry_at_ns - c->now_ns) / NS_PER_MS);
}

static enum loss loss_of(const struct link *l, int64_t now_ns, const struct err *e)
{
    if (session_remedy(e->sqlstate) == REMEDY_COMPLAIN)
        return LOSS_COMPLAINT;
    if (session_silent(&l->session, now_ns))
        return LOSS_SILENT;
    // Repeated terminations kill each session early; a short backoff lets one live long enough
    // to send a batch.
    if (strcmp(e->sqlstate, "57P01") == 0 ||
        (l->session.up && l->greeted && e->kind == ERR_CONNECTION))
        return LOSS_ENDED;
    return LOSS_REFUSED;
}

void link_lose(struct collector *c, const struct err *e)
{
    static const enum meter_id reasons[] = {
        [LOSS_REFUSED] = METER_RECONNECTS_REFUSED,
        [LOSS_ENDED] = METER_RECONNECTS_ENDED,
        [LOSS_SILENT] = METER_RECONNECTS_SILENT,
        [LOSS_COMPLAINT] = METER_RECONNECTS_COMPLAINT,
    };
    struct link *l = &c->link;
    char advice[SESSION_ADVICE_LEN];

    l->loss = loss_of(l, c->now_ns, e);
    work_count(c, reasons[l->loss], 1);
    // The next attempt tries the hosts that were tried so far last. Otherwise libpq would begin
    // with the first host again, and reach the silent one before the others.
    if (l->loss == LOSS_SILENT && !l->session.up)
        l->silent_hosts += l->session.hosts_tried;
    log_line("PG", "%s: %s%s%s%s", l->session.up ? "lost" : "cannot connect", e->text,
        e->kind == ERR_SQL ? ", SQLSTATE " : "", e->kind == ERR_SQL ? e->sqlstate : "",
        session_advice(&l->session, e->sqlstate, advice));
    session_close(&l->session);
    pooler_close(&l->pooler);
}
