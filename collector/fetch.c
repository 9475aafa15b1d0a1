#include "fetch.h"

#include "base/log.h"
#include "queue_batches.h"
#include "ring.h"
#include "work.h"

#define EXAMINE_MOST 64000 // most rows that a read examines for the sake of a full batch

enum verdict {
    LATER,   // nothing waits, or not enough and not for long enough
    FURTHER, // look again, and examine more rows
    SEND,    // a full batch, or one whose time has come
    SKIP,    // none of its tokens can be sent
};

// The read stopped before the end of the queue, and yet found less than a batch, because it passed
// over many rows. Makes the next read look further. Returns false if that is the limit.
static bool look_further(struct collector *c)
{
    struct fetch *f = &c->fetch;

    if (f->next.more) {
        if (f->examine >= EXAMINE_MOST)
            return false;
        f->examine *= 4;
        return true;
    }
    int wanted = f->wanted + c->queue.limit - f->next.sendable;
    if (wanted > queue_examine(&c->queue))
        return false;
    f->wanted = wanted;
    return true;
}

// The read saw everything, so the window learns what waits. When it shows no token in doubt, those
// in doubt are passed. But it does not show the rows that it passed over, and a token in doubt may
// be one of these.
static void saw_all(struct collector *c)
{
    const struct batch *b = &c->fetch.next;
    bool doubtful = false;

    bell_looked(&c->bell, b->now, c->now_ns);
    window_shown_all(&c->window, c->now_ns);
    for (int i = 0; i < b->n; i++) {
        doubtful = doubtful || b->rows[i].written;
        if (!b->rows[i].unsendable && !b->rows[i].written)
            window_shown(&c->window, b->rows[i].token.id);
    }
    if (!doubtful && b->examined == b->n)
        doubt_clear(&c->doubt);
}

static enum verdict judge(struct collector *c)
{
    const struct batch *b = &c->fetch.next;
    bool at_once = false;

    // Nobody heard the announcements of tokens from before our session, so they go out at once.
    if (b->all) {
        saw_all(c);
        at_once = c->fetch.at_once && c->window.missed.count > 0;
        c->fetch.at_once = false;
    }
    if (b->sendable == 0)
        return b->examined > 0 ? SKIP : LATER;
    if (b->sendable >= c->queue.limit)
        return SEND;
    if (!b->all) {
        c->fetch.reason = METER_BATCHES_SCAN;
        return look_further(c) ? FURTHER : SEND;
    }
    c->fetch.reason = at_once ? METER_BATCHES_START : METER_BATCHES_TIMEOUT;
    return at_once || window_timeout_ns(&c->window) <= c->now_ns ? SEND : LATER;
}

bool fetch_take(struct collector *c, struct err *e)
{
    int sendable = c->fetch.next.sendable;
    bool full = sendable >= work_most(c);

    fetch_drop(c);
    c->fetch.stock.due = sendable > 0 && !full;
    return ask_stock(c, full ? FULL_BATCHES : ONE_BATCH, e);
}

void fetch_cut(struct collector *c, int sendable)
{
    struct fetch *f = &c->fetch;
    int64_t examined = f->next.examined;

    batch_cut(&f->next, sendable);
    if (f->next.source == BATCH_TAKEN)
        f->stock.left += (int)(examined - f->next.examined);
    f->reason = METER_BATCHES_BUDGET;
}

static enum state to_write(const struct collector *c)
{
    return c->queue.budget ? PAY : WRITE;
}

static bool consider_cursor(struct collector *c, enum state *next, struct err *e)
{
    enum verdict verdict = judge(c);

    if (verdict == LATER) {
        fetch_drop(c);
        if (!ring_let_go_if_fast(c, e))
            return false;
        if (c->queue.bell[0] && c->bell.step == BELL_LET_GO && !ring_rests(c)) {
            c->bell.step = BELL_WANTED;
            return ask_next(c, e);
        }
        *next = WAIT;
        return true;
    }
    if (verdict == FURTHER) {
        fetch_drop(c);
        return ask_next(c, e);
    }
    if (!c->fetch.next.all && !ring_let_go(c, e))
        return false;
    // With a budget the tokens are paid for before they are taken.
    if (queue_takes(&c->queue) && (verdict == SKIP || !c->queue.budget))
        return fetch_take(c, e);
    if (!queue_takes(&c->queue))
        fetch_start_over(c);
    *next = verdict == SKIP ? PASS : to_write(c);
    return true;
}

// Keeps a batch of the stock that is neither full nor due, so that the next look counts it. There
// is such a batch when another collector took tokens that the last look saw, or when some tokens of
// the stock cannot be sent.
static bool hold(struct collector *c, struct err *e)
{
    struct fetch *f = &c->fetch;
    int sendable = f->next.sendable;

    fetch_drop(c);
    f->stock.left = sendable;
    fetch_start_over(c);
    return ask_look(c, e);
}

static bool consider_stock(struct collector *c, enum state *next, struct err *e)
{
    struct fetch *f = &c->fetch;
    bool full = f->next.sendable >= work_most(c);

    if (!full && f->stock.left > 0 && look_further(c)) {
        fetch_drop(c);
        return ask_stock(c, FULL_BATCHES, e);
    }
    if (!full && f->next.sendable > 0 && !f->stock.due)
        return hold(c, e);
    fetch_start_over(c);
    if (f->next.number == 0) {
        f->stock.due = false;
        fetch_drop(c);
        return ask_next(c, e);
    }
    *next = f->next.sendable > 0 ? to_write(c) : PASS;
    return true;
}

// The delivery is ours: the tokens of it that can be sent go out now.
static bool consider_delivery(struct collector *c, enum state *next, struct err *e)
{
    struct batch *b = &c->fetch.next;
    struct owner *whose = c->left.whose;

    fetch_start_over(c);
    c->left.whose = NULL;
    if (b->number != 0) {
        if (whose && whose->number != 0)
            log_line("QUEUE", "delivering %d tokens of another collector, which %s", b->n,
                whose->alive ? "hangs" : "is gone");
        *next = b->sendable > 0 ? to_write(c) : PASS;
        return true;
    }
    if (whose) {
        owners_was_empty(whose, c->queue.policy->exclusive || !whose->alive, c->now_ns);
        if (c->queue.policy
                ->exclusive) // a delivery that keeps its n may come before those that we had
            c->queue.first = 0;
    } else {
        c->left.ours = false;
    }
    fetch_drop(c);
    return ask_next(c, e);
}

bool fetch_fetch(struct collector *c, enum state *next, struct err *e)
{
    struct fetch *f = &c->fetch;

    if (f->next_step != NEXT_EMPTY) {
        switch (f->next.source) {
        case BATCH_TAKEN:
            return consider_stock(c, next, e);
        case BATCH_DELIVERY:
            return consider_delivery(c, next, e);
        default:
            return consider_cursor(c, next, e);
        }
    }
    if (f->asked != ASK_NOTHING)
        return true;
    if (c->now_ns < f->retry_at_ns) {
        work_wake_at(c, f->retry_at_ns);
        return true;
    }
    return ask_next(c, e);
}
