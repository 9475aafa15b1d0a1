#include <assert.h>
#include <inttypes.h>

#include "base/log.h"
#include "work.h"

#define TALLY_NS NS_PER_S // between two lines of the log about what was passed

// --- the line -----------------------------------------------------------------

// The server is given its next task before the signing, which takes a while.
static bool build(struct collector *c, struct err *e)
{
    const struct batch *b = &c->fetch.next;

    assert(c->fetch.next_step == NEXT_READY && b->sendable > 0);
    if (!fetch_ahead(c, e))
        return false;
    buf_clear(&c->line);
    for (int i = 0; i < b->n; i++)
        if (!b->rows[i].unsendable && !b->rows[i].written &&
            !line_add(&c->line, &c->sign, &b->rows[i].token, e))
            return false;
    if (!line_end(&c->line, e))
        return false;
    c->fetch.next_step = NEXT_BUILT;
    return true;
}

// Receiving, decoding and signing took a while, and the process may have been
// stopped meanwhile: so the line is judged by the time that it is now. Work
// that always takes too long is put up with, but for as long as a lease lasts.
static void look_at_the_clock(struct collector *c)
{
    struct fetch *f = &c->fetch;

    c->now_ns = clock_awake_or_not_ns();
    if (c->now_ns - f->ready_ns <= work_stale_ns(c))
        f->held_up = 0;
    else if (f->held_up < WORK_SLOW_MAX)
        f->held_up++;
    else if (c->now_ns - f->next_asked_ns < work_lease_ns(c->config) / 2)
        f->ready_ns = c->now_ns;
}

static bool too_late(const struct collector *c)
{
    return c->now_ns - c->fetch.ready_ns > work_stale_ns(c);
}

// The line is out; from here on it must not be written again.
static bool written(struct collector *c, enum state *next, struct err *e)
{
    struct batch free = c->pass.written;

    assert(c->pass.step == PASS_NONE);
    c->pass.written = c->fetch.next;
    c->fetch.next = free;
    c->fetch.next_step = NEXT_EMPTY;
    for (int i = 0; i < c->pass.written.n; i++)
        window_taken(&c->window, c->pass.written.rows[i].token.id, c->now_ns);
    c->pass.step = PASS_DUE;
    c->pass.subject = PASS_WRITTEN;
    *next = PASS;
    if (c->link.session.conn)
        return true;
    connect_rest(c);
    *next = BACK_OFF;
    return deliver_doubt(c, e);
}

bool deliver_write(struct collector *c, enum state *next, struct err *e)
{
    struct output *o = &c->output;

    if (c->fetch.next_step == NEXT_READY && !build(c, e))
        return false;
    if (!o->data) {
        look_at_the_clock(c);
        output_begin(o, c->line.data, c->line.len);
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
        return !c->link.session.conn || (connect_renew(c, e) && fetch_ring(c, e));
    }
    output_end(o);
    return written(c, next, e);
}

// The reader was slow: meanwhile tokens may expire, and others may have room for
// what we took.
bool deliver_stall(struct collector *c, enum state *next, struct err *e)
{
    struct fetch *f = &c->fetch;

    assert(f->next_step == NEXT_EMPTY);
    if (output_ready(&c->output)) {
        *next = FETCH;
        return true;
    }
    if (c->left.ours && f->asked == ASK_NOTHING) {
        c->left.ours = false;
        c->left.look_at_ns = c->now_ns;
        if (!queue_send_give_back(&c->queue, &c->link.session, work_deadline_ns(c), e))
            return false;
    }
    return connect_renew(c, e) && fetch_ring(c, e);
}

// --- passing ------------------------------------------------------------------

static struct batch *subject(struct collector *c)
{
    return c->pass.subject == PASS_WRITTEN ? &c->pass.written : &c->fetch.next;
}

static bool send_pass(struct collector *c, struct err *e)
{
    struct batch *b = subject(c);

    if (!queue_send_pass(&c->queue, &c->link.session, b, work_deadline_ns(c), e))
        return false;
    c->pass.step = PASS_SENT;
    if (!batch_is_delivery(b))
        c->queue.n = b->number + 1;
    // More waits behind a batch that did not see everything: ask for it in the
    // same trip. Nothing of it is written before the pass is confirmed.
    if (c->pass.subject != PASS_WRITTEN || b->all || work_stopping(c))
        return true;
    return fetch_follow(c, e);
}

// It is passed, whatever of it was sent.
static void settle(struct collector *c)
{
    const struct batch *b = subject(c);

    for (int i = 0; i < b->n; i++) {
        c->tally.dead_letters += b->rows[i].unsendable != NULL;
        if (b->rows[i].written)
            doubt_mark(&c->doubt, &b->rows[i].token);
    }
    deliver_count_passed(c, &b->passed);
    doubt_drop_marked(&c->doubt);
    if (b->all)
        doubt_clear(&c->doubt);
    if (b->rest)
        c->left.ours = true;
    if (!batch_is_delivery(b))
        c->turn.renewed_ns = c->now_ns; // others watch the cursor as well
}

// The batch saw everything, and what came since was announced.
static bool may_sleep(struct collector *c)
{
    return subject(c)->all && c->queue.mode->alone &&
           (!c->queue.bell[0] || c->bell.step == BELL_OURS);
}

bool deliver_pass(struct collector *c, enum state *next, struct err *e)
{
    struct pass *p = &c->pass;

    switch (p->step) {
    case PASS_DUE:
        if (c->now_ns >= p->retry_at_ns)
            return connect_renew(c, e) && send_pass(c, e);
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
            c->fetch.next.number = 0; // so that nothing of it is left over
            fetch_drop(c);
        }
        batch_clear(&p->written);
        return true;
    }
}

// It is sent again; what was read behind it was read behind nothing.
static bool not_passed(struct collector *c, struct err *e)
{
    struct pass *p = &c->pass;
    const struct batch *b = subject(c);

    if (!fetch_retry(c, e))
        return false;
    p->step = PASS_DUE;
    p->retry_at_ns = c->fetch.retry_at_ns;
    if (!batch_is_delivery(b))
        c->queue.n = b->number;
    if (p->subject != PASS_WRITTEN)
        return true;
    fetch_drop(c);
    if (c->fetch.asked != ASK_NOTHING)
        c->fetch.asked = c->fetch.asked == ASK_TAKE ? ASK_STALE_TAKE : ASK_STALE;
    return true;
}

bool deliver_on_pass(struct collector *c, const PGresult *result, struct err *e)
{
    bool ours;

    assert(c->pass.step == PASS_SENT);
    if (!queue_decode_pass(result, &ours, e))
        return not_passed(c, e);
    if (!ours && c->queue.mode->alone)
        return err_set(e, ERR_CONNECTION, "another collector has taken the queue over");
    if (!ours)
        log_line("QUEUE", "another collector took over a line of ours that was late");
    c->pass.step = PASS_DONE;
    settle(c);
    return true;
}

bool deliver_doubt(struct collector *c, struct err *e)
{
    struct pass *p = &c->pass;
    bool ok = true;

    if (p->step != PASS_NONE && p->step != PASS_DONE && p->subject == PASS_WRITTEN) {
        for (int i = 0; ok && i < p->written.n; i++)
            if (!p->written.rows[i].unsendable && !p->written.rows[i].written)
                ok = doubt_add(&c->doubt, &p->written.rows[i].token, e);
        doubt_close(&c->doubt);
    }
    batch_clear(&p->written);
    p->step = PASS_NONE;
    return ok;
}

// --- the log ------------------------------------------------------------------

void deliver_count_passed(struct collector *c, const struct passed *p)
{
    struct tally *t = &c->tally;

    t->passed.expired += p->expired;
    t->passed.consumed += p->consumed;
    t->passed.status += p->status;
    bool something = p->expired + p->consumed + p->status + t->dead_letters > 0;
    if (something && t->log_at_ns == CLOCK_NEVER)
        t->log_at_ns = c->now_ns + TALLY_NS;
}

void deliver_log_passed(struct collector *c)
{
    const struct passed *p = &c->tally.passed;

    if (p->expired + p->consumed + p->status > 0)
        log_line("QUEUE",
            "passed over: %" PRId64 " expired unsent, %" PRId64 " consumed, %" PRId64
            " of an account in another status",
            p->expired, p->consumed, p->status);
    if (c->tally.dead_letters > 0)
        log_line("QUEUE", "dead letters: %" PRId64 " tokens that a line cannot carry",
            c->tally.dead_letters);
    c->tally = (struct tally){.log_at_ns = CLOCK_NEVER};
}
