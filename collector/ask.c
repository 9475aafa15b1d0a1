#include "ask.h"

#include <assert.h>

#include "base/log.h"
#include "ring.h"
#include "work.h"

#define RETRY_NS (50 * NS_PER_MS)   // before a statement is tried again
#define OWNERS_NS (100 * NS_PER_MS) // between two looks at the other owners

static bool sent(struct collector *c, enum asked what, bool ok)
{
    assert(c->fetch.asked == ASK_NOTHING);
    c->fetch.asked = what;
    c->fetch.asked_ns = c->now_ns;
    return ok;
}

static bool ask_owners(struct collector *c, struct err *e)
{
    char finished[OWNERS_TEXT_LEN];

    c->left.look_at_ns = c->now_ns + OWNERS_NS;
    return sent(c, ASK_OWNERS,
        queue_send_owners(&c->queue, &c->link.session, owners_finished(&c->left.others, finished),
            work_deadline_ns(c), e));
}

static bool ask_delivery(struct collector *c, struct owner *whose, struct err *e)
{
    c->left.whose = whose;
    return sent(c, ASK_DELIVERY,
        queue_send_adopt(&c->queue, &c->link.session, whose, work_deadline_ns(c), e));
}

bool ask_take(struct collector *c, int fewest, struct err *e)
{
    return sent(c, ASK_TAKE,
        queue_send_take(
            &c->queue, &c->link.session, fewest, c->fetch.examine, work_deadline_ns(c), e));
}

static bool ask_read(struct collector *c, struct err *e)
{
    struct fetch *f = &c->fetch;

    // Takes the bell first, so that whatever is inserted after this look is announced.
    if (!ring_take(c, e))
        return false;
    window_reading(&c->window, c->now_ns);
    f->haste = HASTE_NONE;
    return sent(c, ASK_READ,
        queue_send_read(
            &c->queue, &c->link.session, f->wanted, f->examine, work_deadline_ns(c), e));
}

// A collector that works alone takes what others left at once, because no other can come back.
static struct owner *due(struct collector *c)
{
    bool alone = c->queue.mode->alone;

    return owners_due(&c->left.others, alone ? 0 : c->config->grace_ms * NS_PER_MS,
        alone ? 0 : c->config->lease_ms * NS_PER_MS, c->now_ns);
}

static bool look_at_owners(const struct collector *c)
{
    if (c->queue.mode->alone)
        return c->left.look_at_ns == 0 || c->left.others.n > 0;
    return c->now_ns >= c->left.look_at_ns;
}

bool ask_next(struct collector *c, struct err *e)
{
    struct owner *whose;

    assert(c->fetch.next_step == NEXT_EMPTY);
    if (c->left.ours)
        return ask_delivery(c, NULL, e);
    if ((whose = due(c)))
        return ask_delivery(c, whose, e);
    if (look_at_owners(c))
        return ask_owners(c, e);
    return ask_read(c, e);
}

// Everything else is asked for before another take.
static bool may_take(struct collector *c)
{
    return !c->left.ours && !due(c) && !look_at_owners(c);
}

bool ask_ahead(struct collector *c, struct err *e)
{
    struct fetch *f = &c->fetch;

    if (f->haste != HASTE_BACKLOG || f->asked != ASK_NOTHING || f->early || work_stopping(c))
        return true;
    if (c->queue.mode->takes)
        return !may_take(c) || ask_take(c, c->queue.limit, e);
    return f->next.stretch == 0 ||
           sent(c, ASK_AHEAD,
               queue_send_ahead(&c->queue, &c->link.session, &f->next, work_deadline_ns(c), e));
}

bool ask_behind(struct collector *c, struct err *e)
{
    bool takes = c->queue.mode->takes;

    if (takes ? !may_take(c) : c->left.ours || due(c))
        return true;
    if (!(takes ? ask_take(c, c->queue.limit, e) : ask_read(c, e)))
        return false;
    c->fetch.haste = HASTE_FOLLOWS;
    return true;
}

bool ask_retry(struct collector *c, struct err *e)
{
    if (e->kind != ERR_SQL || session_remedy(e->sqlstate) != REMEDY_RETRY)
        return false;
    log_line("PG", "trying again: %s", e->text);
    c->fetch.retry_at_ns = c->now_ns + RETRY_NS;
    return true;
}
