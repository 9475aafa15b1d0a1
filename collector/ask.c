#include "ask.h"

#include <assert.h>

#include "base/log.h"
#include "queue_batches.h"
#include "ring.h"
#include "work.h"

#define RETRY_NS (50 * NS_PER_MS)   // before a statement is tried again
#define OWNERS_NS (100 * NS_PER_MS) // between two looks at the other owners

#define STOCK_SOON_NS (125 * NS_PER_MS) // a stock that was used up sooner may be larger next time
#define STOCK_OLD_NS (250 * NS_PER_MS)  // an older stock is given back: others may have room for it
#define STOCK_MOST 8000 // most tokens that are taken at once, or one batch if larger

static bool sent(struct collector *c, enum asked what, bool ok)
{
    assert(c->fetch.asked == ASK_NOTHING);
    c->fetch.asked = what;
    c->fetch.asked_ns = c->now_ns;
    return ok;
}

static bool ask_owners(struct collector *c, struct err *e)
{
    struct owners_finished finished;

    owners_finished(&c->left.others, &finished);
    c->left.look_at_ns = c->now_ns + OWNERS_NS;
    return sent(c, ASK_OWNERS,
        queue_send_owners(&c->queue, &c->link.session, &finished, work_deadline_ns(c), e));
}

static bool ask_delivery(struct collector *c, struct owner *whose, struct err *e)
{
    c->left.whose = whose;
    return sent(c, ASK_DELIVERY,
        queue_send_adopt(&c->queue, &c->link.session, whose, work_deadline_ns(c), e));
}

// Doubles the number of batches to take at once if the stock was used up soon, or else halves it.
// With lanes it stays one batch, because what is taken goes out before any token of a higher lane
// that comes later.
static void choose_batches(struct collector *c)
{
    struct stock *s = &c->fetch.stock;

    if (c->now_ns - s->taken_ns <= STOCK_SOON_NS && !c->queue.lanes)
        s->batches *= 2;
    else
        s->batches /= 2;
    s->batches = (int)clock_max(1, clock_min(s->batches, STOCK_MOST / c->queue.limit));
    s->taken_ns = c->now_ns;
}

static bool send_take(struct collector *c, enum portion portion, struct err *e)
{
    struct stock *s = &c->fetch.stock;

    if (portion == FULL_BATCHES)
        choose_batches(c);
    int wanted = (portion == FULL_BATCHES ? s->batches * c->queue.limit : work_most(c)) - s->left;
    return queue_send_take(&c->queue, &c->link.session,
        &(struct take){.wanted = wanted,
            .step = portion == FULL_BATCHES ? c->queue.limit : 1,
            .have = s->left,
            .examine = wanted > c->queue.limit ? 4 * wanted : c->fetch.examine,
            .aged = c->fetch.turns % QUEUE_AGED_TURN == QUEUE_AGED_TURN - 1},
        work_deadline_ns(c), e);
}

// Returns the position behind which the stock begins: the end of the batch in hand, or the
// beginning of our first delivery.
static struct position stock_begin(const struct collector *c)
{
    if (c->fetch.next_step != NEXT_EMPTY)
        return c->fetch.next.end;
    return (struct position){.xid = (uint64_t)c->queue.first};
}

bool ask_stock(struct collector *c, enum portion portion, struct err *e)
{
    struct fetch *f = &c->fetch;

    if (c->queue.budget) // only what is paid for is taken
        portion = ONE_BATCH;
    if (f->stock.left < work_most(c) && !send_take(c, portion, e))
        return false;
    return sent(c, ASK_STOCK,
        queue_send_stock(&c->queue, &c->link.session, stock_begin(c), f->wanted, f->examine,
            work_deadline_ns(c), e));
}

static bool stock_is_old(const struct collector *c)
{
    const struct stock *s = &c->fetch.stock;

    return !c->queue.policy->exclusive && s->left >= c->queue.limit &&
           c->now_ns - s->taken_ns > STOCK_OLD_NS;
}

bool ask_give_back_if_old(struct collector *c, struct err *e)
{
    const struct stock *s = &c->fetch.stock;

    if (c->queue.policy->exclusive || c->fetch.asked != ASK_NOTHING || s->left == 0)
        return true;
    if (c->now_ns - s->taken_ns > STOCK_OLD_NS) {
        PQclear(c->fetch.early);
        c->fetch.early = NULL;
        return ask_give_back(c, e);
    }
    work_wake_at(c, s->taken_ns + STOCK_OLD_NS + 1);
    return true;
}

bool ask_give_back(struct collector *c, struct err *e)
{
    if (c->queue.policy->exclusive)
        return true;
    c->fetch.stock = (struct stock){.batches = 1};
    c->left.ours = false;
    c->left.look_at_ns = c->now_ns;
    return queue_send_give_back(
        &c->queue, &c->link.session, stock_begin(c), work_deadline_ns(c), e);
}

bool ask_look(struct collector *c, struct err *e)
{
    struct fetch *f = &c->fetch;

    // The bell is taken first, so that tokens which are inserted after this look are announced.
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
    bool alone = c->queue.policy->exclusive;

    return owners_due(&c->left.others, alone ? 0 : c->config->grace_ms * NS_PER_MS,
        alone ? 0 : c->config->lease_ms * NS_PER_MS, c->now_ns);
}

static bool look_at_owners(const struct collector *c)
{
    if (c->queue.policy->exclusive)
        return c->left.look_at_ns == 0 || c->left.others.n > 0;
    return c->now_ns >= c->left.look_at_ns;
}

bool ask_next(struct collector *c, struct err *e)
{
    struct owner *whose;

    assert(c->fetch.next_step == NEXT_EMPTY);
    if (c->left.ours)
        return ask_delivery(c, NULL, e);
    if (stock_is_old(c) && !ask_give_back(c, e))
        return false;
    if (c->fetch.stock.left >= c->queue.limit || c->fetch.stock.due)
        return ask_stock(c, ONE_BATCH, e);
    if ((whose = due(c)))
        return ask_delivery(c, whose, e);
    if (look_at_owners(c))
        return ask_owners(c, e);
    return ask_look(c, e);
}

// Returns false while something else has to be asked for before another take: deliveries that an
// earlier session of ours left and, when the stock is used up, the other owners and the deliveries
// that they left.
static bool may_take(struct collector *c)
{
    if (c->fetch.stock.left >= c->queue.limit)
        return !c->left.ours;
    return !c->left.ours && !due(c) && !look_at_owners(c);
}

bool ask_ahead(struct collector *c, struct err *e)
{
    struct fetch *f = &c->fetch;

    if (f->haste != HASTE_BACKLOG || f->asked != ASK_NOTHING || f->early || work_stopping(c))
        return true;
    if (queue_takes(&c->queue))
        return stock_is_old(c) || !may_take(c) || ask_stock(c, FULL_BATCHES, e);
    return f->next.stretch == 0 ||
           sent(c, ASK_AHEAD,
               queue_send_ahead(&c->queue, &c->link.session, &f->next, work_deadline_ns(c), e));
}

bool ask_behind(struct collector *c, struct err *e)
{
    bool takes = queue_takes(&c->queue);

    if (takes && c->queue.budget)
        return true;
    // An old stock is given back after the pass, not in the same trip: if the pass failed, its
    // batch would be given back as well.
    if (takes ? stock_is_old(c) || !may_take(c) : c->left.ours || due(c))
        return true;
    if (!(takes ? ask_stock(c, FULL_BATCHES, e) : ask_look(c, e)))
        return false;
    // With a budget no read goes ahead of a batch, because the batch may still be cut.
    c->fetch.haste = c->queue.budget ? HASTE_NONE : HASTE_FOLLOWS;
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
