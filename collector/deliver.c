#include "deliver.h"

#include <assert.h>
#include <inttypes.h>

#include "base/log.h"
#include "fetch.h"
#include "line.h"
#include "queue_batches.h"
#include "ring.h"
#include "work.h"

bool deliver_init(struct collector *c, int output_fd, struct err *e)
{
    struct deliver *d = c->deliver;
    int limit = c->queue.limit;

    *d = (struct deliver){0};
    // The most that one token needs: email and login of 254 characters, each of up to four bytes,
    // the signed text, the code, and the commas.
    buf_init(&d->line, (size_t)limit * (2 * 4 * 254 + SIGN_TEXT_LEN + 16) + 1);
    batch_init(&d->pass.written, limit);
    return sign_init(&d->sign, c->config->key, e) &&
           (output_fd < 0 || output_init(&d->output, output_fd, e));
}

void deliver_fini(struct collector *c)
{
    batch_fini(&c->deliver->pass.written);
    sign_fini(&c->deliver->sign);
    buf_fini(&c->deliver->line);
}

// --- the line -----------------------------------------------------------------

// Makes the line. The server gets its next request first, because signing takes a while.
static bool build(struct collector *c, struct err *e)
{
    const struct batch *b = &c->fetch.next;

    assert(c->fetch.next_step == NEXT_READY && b->sendable > 0);
    if (!ask_ahead(c, e))
        return false;
    buf_clear(&c->deliver->line);
    for (int i = 0; i < b->n; i++)
        if (!b->rows[i].unsendable && !b->rows[i].written &&
            !line_add(&c->deliver->line, &c->deliver->sign, &b->rows[i].token, e))
            return false;
    if (!line_end(&c->deliver->line, e))
        return false;
    c->fetch.next_step = NEXT_BUILT;
    return true;
}

// Sets now_ns to the present time, by which too_late judges the line: receiving, decoding and
// signing took a while, and the process may have been stopped meanwhile. If many lines in a row are
// late, this machine is slow, and a late line is accepted up to half a lease after its request.
static void look_at_the_clock(struct collector *c)
{
    struct fetch *f = &c->fetch;

    c->now_ns = clock_boot_ns();
    if (c->now_ns - f->ready_ns <= work_stale_ns(c))
        c->deliver->held_up = 0;
    else if (c->deliver->held_up < WORK_SLOW_MAX)
        c->deliver->held_up++;
    else if (c->now_ns - f->next_asked_ns < work_lease_ns(c->config) / 2)
        f->ready_ns = c->now_ns;
}

static bool too_late(const struct collector *c)
{
    return c->now_ns - c->fetch.ready_ns > work_stale_ns(c);
}

// Returns the meter of the reason why the line was not held back any longer.
static enum meter_id reason(const struct collector *c)
{
    const struct batch *b = &c->fetch.next;

    if (b->sendable >= c->queue.limit)
        return METER_BATCHES_FULL;
    return b->source == BATCH_DELIVERY ? METER_BATCHES_LEFT_OVER : c->fetch.reason;
}

// Notes that the line is out: from here on it must not be written again.
static bool written(struct collector *c, enum state *next, struct err *e)
{
    struct batch spare = c->deliver->pass.written;

    assert(c->deliver->pass.step == PASS_NONE);
    metrics_line(c->metrics, reason(c), c->fetch.next.sendable);
    budget_used(&c->budget, c->fetch.next.sendable);
    c->deliver->pass.written = c->fetch.next;
    c->fetch.stock.due = false;
    c->fetch.next = spare;
    c->fetch.next_step = NEXT_EMPTY;
    for (int i = 0; i < c->deliver->pass.written.n; i++) {
        const struct row *row = &c->deliver->pass.written.rows[i];
        int64_t since_ns = window_taken(&c->window, row->token.id, c->now_ns);
        if (!row->unsendable && !row->written)
            metrics_waited(c->metrics, since_ns, c->now_ns);
    }
    c->deliver->pass.step = PASS_DUE;
    c->deliver->pass.subject = PASS_WRITTEN;
    *next = PASS;
    if (c->link.session.conn)
        return true;
    fetch_forget(c);
    link_rest(&c->link, c->now_ns);
    *next = BACK_OFF;
    return deliver_lose(c, e);
}

bool deliver_write(struct collector *c, enum state *next, struct err *e)
{
    struct output *o = &c->deliver->output;

    if (c->fetch.next_step == NEXT_READY && !build(c, e))
        return false;
    if (!o->data) {
        look_at_the_clock(c);
        output_begin(o, c->deliver->line.data, c->deliver->line.len);
    }
    if (o->done == 0 && too_late(c)) {
        output_cancel(o);
        fetch_drop(c);
        *next = output_ready(o) ? FETCH : STALL;
        return true;
    }
    if (!output_pump(o, e))
        return false;
    if (!output_idle(o)) {
        if (o->done == 0)
            work_wake_at(c, c->fetch.ready_ns + work_stale_ns(c) + 1);
        if (!c->link.session.conn)
            return true;
        return turn_renew(c, e) && ring_keep(c, e) &&
               (!queue_takes(&c->queue) || o->done == 0 || ask_give_back_if_old(c, e));
    }
    output_end(o);
    return written(c, next, e);
}

// Gives back what was taken while the reader is stopped: meanwhile tokens may expire, and others
// may have room for them.
bool deliver_stall(struct collector *c, enum state *next, struct err *e)
{
    struct fetch *f = &c->fetch;

    assert(f->next_step == NEXT_EMPTY);
    if (output_ready(&c->deliver->output)) {
        *next = FETCH;
        return true;
    }
    if ((c->left.ours || f->stock.left > 0) && f->asked == ASK_NOTHING && !ask_give_back(c, e))
        return false;
    return turn_renew(c, e) && ring_keep(c, e);
}

// --- passing ------------------------------------------------------------------

static struct batch *subject(struct collector *c)
{
    return c->deliver->pass.subject == PASS_WRITTEN ? &c->deliver->pass.written : &c->fetch.next;
}

static bool send_pass(struct collector *c, struct err *e)
{
    struct batch *b = subject(c);

    if (!queue_send_pass(&c->queue, &c->link.session, b, work_deadline_ns(c), e))
        return false;
    c->deliver->pass.step = PASS_SENT;
    if (!batch_is_delivery(b))
        c->queue.n = b->number + 1;
    // More tokens wait behind a batch that did not see everything, so the same round trip asks for
    // them. They are written only after the pass is confirmed.
    if (c->deliver->pass.subject != PASS_WRITTEN)
        return true;
    if (!b->all && !work_stopping(c))
        return fetch_follow(c, e);
    fetch_unfollow(c);
    return true;
}

// The batch is passed as a whole, even if only a part of it was sent.
static void settle(struct collector *c)
{
    const struct batch *b = subject(c);

    int dead = 0;

    for (int i = 0; i < b->n; i++) {
        dead += b->rows[i].unsendable != NULL;
        if (b->rows[i].written)
            doubt_mark(&c->doubt, &b->rows[i].token);
    }
    tally_add(&c->tally, &c->metrics->meters, &b->passed, dead, c->now_ns);
    if (c->deliver->pass.subject == PASS_WRITTEN)
        work_count(c, METER_TOKENS_PASSED, b->sendable);
    doubt_drop_marked(&c->doubt);
    if (b->all)
        doubt_clear(&c->doubt);
    if (!batch_is_delivery(b))
        c->turn.renewed_ns = c->now_ns; // a move of the cursor shows others that we are at work
    else
        c->queue.first = b->number;
    if (b->source == BATCH_DELIVERY)
        c->left.ours = true; // another delivery of ours may be left
}

// Returns true when the batch saw everything, and what came since was announced.
static bool may_sleep(struct collector *c)
{
    return subject(c)->all && !queue_takes(&c->queue) &&
           (!c->queue.bell[0] || c->bell.step == BELL_OURS);
}

bool deliver_pass(struct collector *c, enum state *next, struct err *e)
{
    struct pass *p = &c->deliver->pass;

    switch (p->step) {
    case PASS_NONE: // there was nothing to write
        p->subject = PASS_NEXT;
        p->step = PASS_DUE;
        // fall through
    case PASS_DUE:
        if (c->now_ns >= p->retry_at_ns)
            return turn_renew(c, e) && send_pass(c, e);
        work_wake_at(c, p->retry_at_ns);
        return true;
    case PASS_SENT:
        // A full batch was read ahead: its line is made while the move is confirmed.
        return c->fetch.next_step != NEXT_READY || p->subject != PASS_WRITTEN ||
               c->fetch.haste != HASTE_BACKLOG || build(c, e);
    default:
        assert(p->step == PASS_DONE);
        *next = may_sleep(c) ? WAIT : FETCH;
        p->step = PASS_NONE;
        if (p->subject == PASS_NEXT) {
            c->fetch.next.number = 0; // so that fetch_drop does not count the delivery as left over
            fetch_drop(c);
        }
        batch_clear(&p->written);
        return true;
    }
}

// Sends a failed pass again later, if that may help.
static bool not_passed(struct collector *c, struct err *e)
{
    struct pass *p = &c->deliver->pass;
    const struct batch *b = subject(c);

    if (!ask_retry(c, e))
        return false;
    p->step = PASS_DUE;
    p->retry_at_ns = c->fetch.retry_at_ns;
    if (!batch_is_delivery(b))
        c->queue.n = b->number;
    if (p->subject == PASS_WRITTEN)
        fetch_unfollow(c);
    return true;
}

bool deliver_on_pass(struct collector *c, const PGresult *result, struct err *e)
{
    bool ours;

    assert(c->deliver->pass.step == PASS_SENT);
    if (!queue_decode_pass(result, &ours, e))
        return not_passed(c, e);
    if (!ours && c->queue.policy->exclusive)
        return err_set(e, ERR_CONNECTION, "another collector has taken the queue over");
    if (!ours)
        log_line("QUEUE", "another collector took over a line of ours that was late");
    c->deliver->pass.step = PASS_DONE;
    settle(c);
    return true;
}

// --- what the loop asks ---------------------------------------------------------

bool deliver_begun(const struct collector *c)
{
    return c->deliver->output.done > 0;
}

bool deliver_owes(const struct collector *c)
{
    const struct pass *p = &c->deliver->pass;

    return p->step != PASS_NONE && p->subject == PASS_WRITTEN;
}

bool deliver_lose(struct collector *c, struct err *e)
{
    struct pass *p = &c->deliver->pass;
    bool ok = true;

    output_cancel(&c->deliver->output);
    if (deliver_owes(c) && p->step != PASS_DONE) {
        for (int i = 0; ok && i < p->written.n; i++)
            if (!p->written.rows[i].unsendable && !p->written.rows[i].written)
                ok = doubt_add(&c->doubt, &p->written.rows[i].token, e);
        doubt_close(&c->doubt);
    }
    batch_clear(&p->written);
    p->step = PASS_NONE;
    return ok;
}

struct pollfd deliver_poll(const struct collector *c)
{
    const struct output *o = &c->deliver->output;
    bool watch = c->state == WRITE || !(deliver_owes(c) || c->doubt.n > 0);

    return (struct pollfd){.fd = watch ? o->fd : -1,
        .events = (short)(c->state == STALL ? POLLOUT : output_events(o))};
}

void deliver_give_back_memory(struct collector *c)
{
    struct deliver *d = c->deliver;
    size_t most = d->line.max;

    buf_fini(&d->line);
    buf_init(&d->line, most);
    batch_fini(&d->pass.written);
    batch_init(&d->pass.written, c->queue.limit);
}

void deliver_validate(const struct collector *c)
{
    const struct pass *p = &c->deliver->pass;

    (void)p;
    assert(p->step == PASS_NONE || c->state == PASS);
    assert(p->step != PASS_NONE || !p->written.result);
    assert(!c->fetch.early || c->fetch.next_step != NEXT_EMPTY || p->step == PASS_DUE);
    assert(output_idle(&c->deliver->output) || c->state == WRITE || c->sender.writing);
}
