#include "states.h"

#include <inttypes.h>

#include "base/log.h"

#define TALLY_NS NS_PER_S // between two lines of the log about what was passed

// The server is given its next task before the signing, which takes a while.
bool deliver_prepare(struct collector *c, struct err *e)
{
    const struct batch *b = &c->next;

    if (!fetch_send_ahead(c, e))
        return false;
    buf_clear(&c->line);
    for (int i = 0; i < b->n; i++)
        if (!b->rows[i].unsendable && !line_add(&c->line, &c->sign, &b->rows[i].token, e))
            return false;
    c->built = line_end(&c->line, e);
    return c->built;
}

// Receiving, decoding and signing took a while, and the process may have been
// stopped meanwhile: so the line is judged by the time that it is now. Work
// that always takes too long is put up with.
static void look_at_the_clock(struct collector *c)
{
    c->now_ns = clock_now_ns();
    if (c->now_ns - c->ready_ns <= state_stale_ns(c))
        c->held_up = 0;
    else if (c->held_up < STATE_SLOW_MAX)
        c->held_up++;
    else
        c->ready_ns = c->now_ns;
}

bool deliver_begin_line(struct collector *c, struct err *e)
{
    if (!c->built && !deliver_prepare(c, e))
        return false;
    c->built = false;
    look_at_the_clock(c);
    output_begin(&c->output, c->line.data, c->line.len);
    c->state = WRITE;
    return true;
}

bool deliver_step_write(struct collector *c, struct err *e)
{
    if (c->output.done == 0 && c->now_ns - c->ready_ns > state_stale_ns(c)) {
        if (!output_ready(&c->output))
            return true;
        // The reader was slow: tokens may have expired, the queue may be
        // somebody else's.
        output_cancel(&c->output);
        fetch_drop(c);
        c->state = FETCH;
        return true;
    }
    if (!output_pump(&c->output, e))
        return false;
    if (!output_idle(&c->output))
        return true;

    // The line is out; from here on it must not be written again.
    struct batch free = c->written;
    c->written = c->next;
    c->next = free;
    c->ready = c->claiming = false;
    c->unconfirmed = true;
    for (int i = 0; i < c->written.n; i++)
        window_taken(&c->window, c->written.rows[i].token.id, c->now_ns);
    if (!c->session.conn) {
        connect_back_off(c);
        return true;
    }
    deliver_start_advance(c, ADVANCE_WRITTEN, c->written.n);
    return true;
}

void deliver_start_advance(struct collector *c, enum advance_reason reason, int rows)
{
    c->reason = reason;
    c->advance_rows = rows;
    c->advancing = c->advanced = false;
    c->state = ADVANCE;
}

bool deliver_step_advance(struct collector *c, struct err *e)
{
    const struct batch *b = c->reason == ADVANCE_WRITTEN ? &c->written : &c->next;

    if (c->advanced) {
        // A batch that saw everything leaves nothing to ask for; except, where
        // several share the queue, whether others have claims.
        bool done = b->all && c->reason != ADVANCE_RECOVERED && !c->queue.shared;
        c->state = done ? WAIT : FETCH;
        if (c->reason == ADVANCE_WRITTEN) {
            c->unconfirmed = false;
            batch_clear(&c->written);
        } else {
            c->claiming = false;
            fetch_drop(c);
        }
        return true;
    }
    // A full batch was read ahead: its line is made while the move is confirmed.
    if (c->advancing)
        return !c->ready || !c->backlog || c->built || deliver_prepare(c, e);
    if (c->now_ns < c->retry_ns) {
        state_wake_at(c, c->retry_ns);
        return true;
    }
    c->advancing = true;
    c->wanted = c->queue.limit;
    c->examine = c->queue.rows_max;
    if (!queue_send_advance(
            &c->queue, &c->session, QUEUE_ADVANCE, b, c->advance_rows, state_deadline_ns(c), e))
        return false;
    // More waits behind a batch that did not see everything: ask for it in the
    // same trip. Nothing of it is written before the move is confirmed.
    if (c->reason != ADVANCE_WRITTEN || b->all || c->stopping)
        return true;
    if (!fetch_take_early(c, e))
        return false;
    if (c->ready)
        return deliver_prepare(c, e);
    if (c->reading)
        return true;
    // Claims that are to be given back are so before the next one, but not in
    // this trip: if the move fails, what was written is still among them.
    if (c->queue.shared)
        return c->unclaim || fetch_claim(c, c->queue.limit, c->queue.limit, e);
    if (!fetch_send(c, e))
        return false;
    c->follows = true;
    return true;
}

bool deliver_on_advance(struct collector *c, const PGresult *result, struct err *e)
{
    const struct batch *b = c->reason == ADVANCE_WRITTEN ? &c->written : &c->next;
    bool moved;

    c->advancing = false;
    if (!queue_decode_advance(&c->queue, result, &moved, e)) {
        if (c->ready && c->reason == ADVANCE_WRITTEN)
            fetch_drop(c);
        c->stale_read = c->reading;
        return fetch_retry(c, e);
    }
    if (!moved)
        return err_set(e, ERR_CONNECTION, "another session has moved the cursor");
    c->advanced = true;
    c->complained = false;

    struct passed p;
    c->queue.cursor = batch_end(b, c->advance_rows, &p);
    for (int i = 0; i < c->advance_rows; i++)
        c->dead_letters += b->rows[i].unsendable != NULL;
    deliver_count_passed(c, &p);
    return true;
}

void deliver_count_passed(struct collector *c, const struct passed *p)
{
    c->passed.expired += p->expired;
    c->passed.consumed += p->consumed;
    c->passed.status += p->status;
    bool something = p->expired + p->consumed + p->status + c->dead_letters > 0;
    if (something && c->passed_log_ns == CLOCK_NEVER)
        c->passed_log_ns = c->now_ns + TALLY_NS;
}

void deliver_log_passed(struct collector *c)
{
    struct passed *p = &c->passed;

    if (p->expired + p->consumed + p->status > 0)
        log_line("QUEUE",
            "passed over: %" PRId64 " expired unsent, %" PRId64 " consumed, %" PRId64
            " of an account in another status",
            p->expired, p->consumed, p->status);
    if (c->dead_letters > 0)
        log_line(
            "QUEUE", "dead letters: %" PRId64 " tokens that a line cannot carry", c->dead_letters);
    c->passed = (struct passed){0};
    c->dead_letters = 0;
    c->passed_log_ns = CLOCK_NEVER;
}
