#include "keeper_inside.h"

#include "base/base.h"
#include "base/log.h"
#include "queue.h"
#include "output.h"
#include "stop.h"

static bool touch_sent(struct keeper *k, const char *sql, struct err *e) MUST_USE;

// Returns the rate that this collector sustains, in tokens per second; 0: no limit. Some defects
// sustain only a part of the 100 per second in the scenario `paced`.
static int64_t rate_of(const struct keeper *k)
{
    if (has(k, DEFECT_SLOW_10))
        return 90;
    if (has(k, DEFECT_SLOW_20))
        return 80;
    return has(k, DEFECT_SLOW_40) ? 60 : k->settings->rate;
}

// Waits until the next line may be written at the rate that this collector sustains.
static void keep_pace(struct keeper *k)
{
    int64_t rate = rate_of(k);

    if (rate == 0)
        return;
    while (!stop_requested() && clock_now_ns() < k->free_ns)
        stop_poll(NULL, 0, k->free_ns);
    k->free_ns = clock_now_ns() + k->batch.tokens * NS_PER_S / rate;
}

// Returns how often the line is written: once, but twice with some defects.
static int times_of(struct keeper *k)
{
    bool some = has(k, DEFECT_SENDS_SOME_TWICE) && ++k->lines % 100 == 0;

    return some || has(k, DEFECT_SENDS_TWICE) ? 2 : 1;
}

// Writes the line of the batch; several defects write it wrongly, late or twice.
static bool write_line(struct keeper *k, struct err *e)
{
    struct batch *b = &k->batch;
    int times = times_of(k);

    if (has(k, DEFECT_INVENTS) && b->tokens < k->settings->limit &&
        !batch_invent(b, k->settings->key, e))
        return false;
    if (has(k, DEFECT_TRAILING_COMMA))
        buf_append_char(&b->line, ',');
    if (has(k, DEFECT_BURNS) && k->lines++ % 20 == 0)
        defect_burn();
    if (has(k, DEFECT_FLAPS) && k->lines++ % 4 == 3)
        stop_poll(NULL, 0, clock_now_ns() + 700 * NS_PER_MS);
    if (has(k, DEFECT_LEAKS))
        defect_leak(&k->leaked);
    if (!buf_append_char(&b->line, '\n'))
        return err_memory(e);
    for (int i = 0; i < times; i++)
        if (!output_write(&b->line, &k->session, &k->announced, k->defect, e))
            return false;
    vices_line(&k->vices, &b->line);
    return true;
}

bool keeper_send(struct keeper *k, struct err *e)
{
    struct batch *b = &k->batch;

    if (b->passed > 0)
        log_line("QUEUE", "passed over %d tokens that are not eligible", b->passed);
    k->announced = 0; // tokens that are announced from here on belong to the next batch
    k->wakeups = 0;
    // These defects do it in the wrong order.
    bool moves_first = has(k, DEFECT_DROPS_UNANSWERED) || has(k, DEFECT_MARKS_FIRST) ||
                       has(k, DEFECT_CURSOR_AT_WRITE);
    if (moves_first && !keeper_move_cursor(k, e))
        return false;
    if (b->tokens > 0) {
        keep_pace(k);
        k->unconfirmed = true;
        if (!write_line(k, e))
            return false;
        // The line is written. If the session dies now, only the cursor's move is to be repeated.
        buf_clear(&b->line);
        b->tokens = 0;
    }
    // The lazy defects leave the move to the next look, which finds k->unconfirmed.
    if (is_lazy(k) && k->unconfirmed)
        return true;
    return keeper_move_cursor(k, e);
}

bool keeper_break_off(struct keeper *k, struct err *e)
{
    struct buf *line = &k->batch.line;

    line->len /= 2;
    return output_write(line, &k->session, &k->announced, k->defect, e);
}

bool keeper_move_cursor(struct keeper *k, struct err *e)
{
    struct batch *b = &k->batch;

    // walked 0: the cursor has moved past the batch already.
    if (b->walked > 0) {
        k->unconfirmed = true; // until the server has confirmed the move
        int64_t asked_ns = clock_now_ns();
        if (!vices_note(&k->vices, &k->session, e) ||
            (k->settings->shares ? !sharing_mark(&k->sharing, &k->session, b, e)
                                 : !cursor_move(&k->session, k->settings, b, e)) ||
            !vices_confirmed(&k->vices, &k->session, clock_now_ns() - asked_ns, e))
            return false;
        k->before = b->from;
        batch_moved(b);
        if (has(k, DEFECT_DELETES) &&
            !touch_sent(k, "DELETE FROM tokens WHERE (xid, id) <= ($1::xid8, $2::bigint)", e))
            return false;
        if (has(k, DEFECT_CONSUMES) &&
            !touch_sent(k,
                "UPDATE tokens SET consumed_at = extract(epoch FROM now())"
                " WHERE consumed_at IS NULL AND (xid, id) <= ($1::xid8, $2::bigint)",
                e))
            return false;
        if (has(k, DEFECT_SUSPENDS) &&
            !touch_sent(k,
                "UPDATE accounts SET status = 'suspended' WHERE status <> 'suspended' AND id IN"
                " (SELECT account FROM tokens WHERE (xid, id) <= ($1::xid8, $2::bigint))",
                e))
            return false;
        if (has(k, DEFECT_EXTENDS) &&
            !touch_sent(k,
                "UPDATE tokens SET expires_at = 2147483647"
                " WHERE expires_at < 2147483647 AND (xid, id) <= ($1::xid8, $2::bigint)",
                e))
            return false;
    }
    k->unconfirmed = false;
    return true;
}

// Runs a statement that changes the tokens up to the cursor. Only some defects do this.
static bool touch_sent(struct keeper *k, const char *sql, struct err *e)
{
    const char *params[] = {k->batch.to.xid, k->batch.to.id};
    PGresult *result;

    if (!session_query(&k->session, sql, 2, params, &result, e))
        return false;
    PQclear(result);
    return true;
}
