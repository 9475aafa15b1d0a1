#include "loop/connect.h"

#include "base/log.h"
#include "loop/work.h"

bool connect_back_off(struct collector *c, enum state *next, struct err *e)
{
    if (c->now_ns < c->link.retry_at_ns) {
        work_wake_at(c, c->link.retry_at_ns);
        return true;
    }
    queue_new_session(&c->queue);
    window_restart(&c->window, c->now_ns);
    *next = CONNECT;
    return link_open(&c->link, c->config->database_url, c->now_ns, e);
}

bool connect_connect(struct collector *c, enum state *next, struct err *e)
{
    if (!c->link.session.up)
        return true;
    *next = SET_UP;
    return queue_send_self(&c->link.session, work_deadline_ns(c), e);
}

// Sends the set-up, once it is known that no pooler lends the session to others.
static bool greet(struct collector *c, struct err *e)
{
    struct link *l = &c->link;

    if (!link_greet(l, c->config->database_url, c->queue.backend.pid, c->now_ns, e))
        return false;
    if (!l->greeted) {
        work_wake_at(c, l->pooler.deadline_ns);
        return true;
    }
    return queue_send_setup(&c->queue, &l->session, work_deadline_ns(c), e);
}

bool connect_set_up(struct collector *c, enum state *next, struct err *e)
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
