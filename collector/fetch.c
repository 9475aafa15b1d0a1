#include "fetch.h"

#include <assert.h>

#include "base/log.h"
#include "queue_batches.h"
#include "ring.h"
#include "work.h"

#define LARGE_ROWS 500
#define EXAMINE_MOST 64000 // most rows that a read examines for the sake of a full batch

static void start_over(struct fetch *f, const struct queue *q)
{
    f->wanted = q->limit;
    f->examine = queue_examine(q);
}

// --- answers ------------------------------------------------------------------

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

    if (!c->queue.mode->alone || c->fetch.next.source != BATCH_CURSOR ||
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
    start_over(f, &c->queue);
    f->at_once = true;
    f->retry_at_ns = 0;
    f->stock = (struct stock){.batches = 1};
    c->left = (struct leftovers){.ours = true};
    c->bell = (struct bell){.step = BELL_LET_GO};
    c->budget = (struct budget){0};
}

// --- deciding -----------------------------------------------------------------

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
        start_over(&c->fetch, &c->queue);
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
    start_over(f, &c->queue);
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
    start_over(f, &c->queue);
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

    start_over(&c->fetch, &c->queue);
    c->left.whose = NULL;
    if (b->number != 0) {
        if (whose && whose->number != 0)
            log_line("QUEUE", "delivering %d tokens of another collector, which %s", b->n,
                whose->alive ? "hangs" : "is gone");
        *next = b->sendable > 0 ? to_write(c) : PASS;
        return true;
    }
    if (whose) {
        owners_was_empty(whose, c->queue.mode->alone || !whose->alive, c->now_ns);
        if (c->queue.mode->alone) // a delivery that keeps its n may come before those that we had
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
