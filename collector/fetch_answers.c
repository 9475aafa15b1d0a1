// Makes batches of the answers to what ask.c has asked.
#include <assert.h>

#include "fetch.h"
#include "queue_batches.h"
#include "work.h"

#define LARGE_ROWS 500

void fetch_start_over(struct collector *c)
{
    c->fetch.wanted = c->queue.limit;
    c->fetch.examine = queue_examine(&c->queue);
}

static bool quick(const struct collector *c)
{
    return c->now_ns - c->fetch.asked_ns <= work_stale_ns(c);
}

// True when an answer is young enough to act on. It shows the state at the moment of its question;
// if it was held up, another collector may have taken over the queue meanwhile. A look that is
// followed by a take need not be fresh, and does not count among the slow answers.
static bool fresh(struct collector *c, enum asked what)
{
    struct fetch *f = &c->fetch;

    f->next_asked_ns = f->ready_ns = f->asked_ns;
    if (queue_takes(&c->queue) && what == ASK_READ)
        return true;
    if (!quick(c) && f->slow >= WORK_SLOW_MAX) {
        f->ready_ns = c->now_ns;
        return true;
    }
    f->slow = quick(c) ? 0 : f->slow + 1;
    return f->slow == 0;
}

// Uses a batch that was read ahead only if it is full. A batch that is not full may have grown
// since, and the window decides when it goes out.
static bool take_ahead(struct collector *c, PGresult *result, struct err *e)
{
    struct fetch *f = &c->fetch;
    bool in_time = quick(c);

    f->haste = HASTE_NONE;
    if (!batch_decode(&f->next, result, BATCH_AHEAD, c->queue.limit, queue_examine(&c->queue),
            &c->doubt, e)) {
        batch_clear(&f->next);
        return ask_retry(c, e);
    }
    if (f->next.sendable < c->queue.limit || !in_time) {
        batch_clear(&f->next);
        return true;
    }
    f->next.number = c->queue.n;
    f->next_asked_ns = f->ready_ns = f->asked_ns;
    f->next_step = NEXT_READY;
    f->haste = HASTE_BACKLOG;
    return true;
}

// Returns false when somebody else has claimed the queue, or moved its cursor, although we are its
// only holder.
static bool still_ours(const struct collector *c, struct err *e)
{
    int64_t expected = c->queue.lanes ? c->queue.epoch : c->queue.n;

    if (!c->queue.policy->exclusive || c->fetch.next.source != BATCH_CURSOR ||
        c->fetch.next.number == expected)
        return true;
    return err_set(e, ERR_CONNECTION, "another collector has taken the queue over");
}

// The batch is in hand now, so it no longer counts as stock.
static void out_of_stock(struct fetch *f)
{
    struct stock *s = &f->stock;

    s->left = f->next.all ? 0 : (int)clock_max(s->left - f->next.examined, 0);
    f->next.all = s->left == 0 && s->every;
}

static bool keep(struct collector *c, PGresult *result, enum asked what, struct err *e)
{
    static const enum batch_source sources[] = {
        [ASK_READ] = BATCH_CURSOR, [ASK_STOCK] = BATCH_TAKEN, [ASK_DELIVERY] = BATCH_DELIVERY};
    struct fetch *f = &c->fetch;
    int examine = what == ASK_DELIVERY ? queue_examine(&c->queue) : f->examine;
    int wanted = what == ASK_DELIVERY ? examine : f->wanted;

    if (!batch_decode(&f->next, result, sources[what], wanted, examine, &c->doubt, e)) {
        batch_clear(&f->next);
        return ask_retry(c, e);
    }
    if (!still_ours(c, e))
        return false;
    bool full =
        f->next.sendable == c->queue.limit && (what != ASK_READ || f->next.n == f->next.sendable);
    f->haste = f->haste != HASTE_NONE && full && quick(c) ? HASTE_BACKLOG : HASTE_NONE;
    if (what == ASK_STOCK)
        out_of_stock(f);
    f->next_step = NEXT_READY;
    f->large = f->large || f->next.n > LARGE_ROWS;
    return true;
}

// A batch that was taken ahead too long ago is judged again, like one that is left over.
static bool keep_early(struct collector *c, PGresult *result, struct err *e)
{
    if (!queue_takes(&c->queue))
        return take_ahead(c, result, e);
    if (!keep(c, result, ASK_STOCK, e))
        return false;
    c->fetch.next_asked_ns = c->fetch.ready_ns = c->fetch.asked_ns;
    if (c->fetch.next_step != NEXT_EMPTY && !quick(c))
        fetch_drop(c);
    return true;
}

bool fetch_on_read(struct collector *c, PGresult *result, struct err *e)
{
    struct fetch *f = &c->fetch;
    enum asked what = f->asked;

    f->asked = ASK_NOTHING;
    switch (what) {
    case ASK_STALE:
        PQclear(result);
        return true;
    case ASK_AHEAD:
    case ASK_STOCK:
        if (f->next_step != NEXT_EMPTY) {
            f->early = result;
            return true;
        }
        if (what == ASK_AHEAD)
            return take_ahead(c, result, e);
        break;
    default:
        assert(what == ASK_READ || what == ASK_DELIVERY);
    }
    if (!keep(c, result, what, e))
        return false;
    if (f->next_step != NEXT_EMPTY && !fresh(c, what))
        fetch_drop(c);
    return true;
}

bool fetch_on_owners(struct collector *c, const PGresult *result, struct err *e)
{
    assert(c->fetch.asked == ASK_OWNERS || c->fetch.asked == ASK_STALE);
    c->fetch.asked = ASK_NOTHING;
    if (!queue_decode_owners(&c->left.others, result, c->now_ns, e))
        return ask_retry(c, e);
    return true;
}

bool fetch_on_take(struct collector *c, const PGresult *result, struct err *e)
{
    struct stock *s = &c->fetch.stock;
    struct passed passed;
    int taken;

    // If the take failed, the read that was sent behind it still shows which tokens are ours.
    if (!queue_decode_take(result, &taken, &s->every, &passed, e))
        return ask_retry(c, e);
    s->left += taken;
    c->fetch.turns += taken > 0;
    tally_add(&c->tally, &c->metrics->meters, &passed, 0, c->now_ns);
    return true;
}

// A batch that was taken and not begun is still ours, and is read and judged again later.
void fetch_drop(struct collector *c)
{
    struct fetch *f = &c->fetch;

    if (f->next_step != NEXT_EMPTY && f->next.number != 0) {
        if (f->next.source == BATCH_TAKEN)
            f->stock.left += (int)f->next.examined;
        c->left.ours = c->left.ours || f->next.source == BATCH_DELIVERY;
    }
    if (f->asked == ASK_AHEAD || f->asked == ASK_STOCK)
        f->asked = ASK_STALE;
    f->next_step = NEXT_EMPTY;
    f->haste = HASTE_NONE;
    PQclear(f->early);
    f->early = NULL;
    batch_clear(&f->next);
}

void fetch_abandon(struct collector *c)
{
    PQclear(c->fetch.early);
    c->fetch.early = NULL;
    c->fetch.asked = ASK_NOTHING;
    c->left.whose = NULL;
}

// Puts everything back to where a new session begins.
void fetch_forget(struct collector *c)
{
    struct fetch *f = &c->fetch;

    fetch_drop(c);
    fetch_abandon(c);
    fetch_start_over(c);
    f->at_once = true;
    f->retry_at_ns = 0;
    f->stock = (struct stock){.batches = 1};
    c->left = (struct leftovers){.ours = true};
    c->bell = (struct bell){.step = BELL_LET_GO};
    c->budget = (struct budget){0};
}

// --- behind a batch that is being passed --------------------------------------

bool fetch_follow(struct collector *c, struct err *e)
{
    struct fetch *f = &c->fetch;
    PGresult *early = f->early;

    f->early = NULL;
    if (early && !keep_early(c, early, e))
        return false;
    return f->next_step != NEXT_EMPTY || f->asked != ASK_NOTHING || ask_behind(c, e);
}

void fetch_unfollow(struct collector *c)
{
    struct fetch *f = &c->fetch;

    fetch_drop(c);
    if (f->asked == ASK_READ)
        f->asked = ASK_STALE;
}
