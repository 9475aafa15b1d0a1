// To settle a line we name its row by two numbers, its n and a random one (the nonce), so that
// after a failover no line is taken for another that got the same n. All lines that are written are
// settled in one request. If possible, that request is also the next take: one flush serves both.
//
// The lock for work in hand shows other collectors that we have something in hand, so that they
// watch our lease. It is released by the request that leaves nothing in hand, because a trip of its
// own would delay the next line. A lock that we kept without knowing it would do harm: others would
// see us busy without a renewed lease, and free what we have in hand next. It is an advisory lock
// of the session: the server counts how often we took it, and a rollback undoes neither a lock nor
// a release. So after a request has failed we may hold it more than once. We count how often we may
// hold it, and release it that often; the server only warns of a lock that we do not hold.
#include "loop/settle.h"

#include "base/log.h"
#include "loop/take.h"
#include "loop/work.h"
#include "queue/lines_columns.h"
#include "queue/queue_lines.h"

#define RETRY_NS (50 * NS_PER_MS)
#define ARRAYS 5

// Returns one of the SQL arrays of a request, of which there are ARRAYS.
static struct buf *array_at(struct settled *s, int i)
{
    struct buf *const all[ARRAYS] = {&s->lines, &s->nonces, &s->ends, &s->tokens, &s->reasons};

    return all[i];
}

void settle_init(struct collector *c)
{
    outbox_init(&c->settle.outbox);
    for (int i = 0; i < ARRAYS; i++)
        buf_init(array_at(&c->settle.sent, i), SIZE_MAX);
}

void settle_fini(struct collector *c)
{
    outbox_fini(&c->settle.outbox);
    for (int i = 0; i < ARRAYS; i++)
        buf_fini(array_at(&c->settle.sent, i));
}

// --- lines as arrays ----------------------------------------------------------------

// Begins a request that settles lines or gives them back: its SQL arrays are empty. Then call
// add_row or add_settled_line for each line, and close_arrays at the end.
static void open_arrays(struct settled *s)
{
    for (int i = 0; i < ARRAYS; i++) {
        buf_clear(array_at(s, i));
        buf_append_char(array_at(s, i), '{');
    }
    s->has_ends = s->has_dead = false;
    s->cursor_to = NULL;
}

// Returns what comes before the next item of an array; nothing if it has only its opening brace.
static const char *comma(const struct buf *b)
{
    return b->len > 1 ? "," : "";
}

static void add_row(struct settled *s, int64_t n, int64_t nonce)
{
    buf_printf(&s->lines, "%s%" PRId64, comma(&s->lines), n);
    buf_printf(&s->nonces, "%s%" PRId64, comma(&s->nonces), nonce);
}

// Adds a line that is settled, and its tokens that became dead letters.
static void add_settled_line(struct settled *s, const struct line *line)
{
    // A line that was only read has no row: settling it moves the cursor to its place.
    if (line->n == 0)
        s->cursor_to = line->place.data;
    else
        add_row(s, line->n, line->nonce);
    // A row may have more tokens than its line, after the limit was made smaller. Then `ends` says
    // how far the line went.
    if (line->has_rest)
        buf_printf(&s->ends, "%s%" PRId64, comma(&s->ends), line->tokens[line->count - 1].id);
    else if (line->n != 0)
        buf_printf(&s->ends, "%sNULL", comma(&s->ends));
    s->has_ends = s->has_ends || line->has_rest;
    for (int i = 0; i < line->count; i++) {
        if (!line->tokens[i].unsendable)
            continue;
        buf_printf(&s->tokens, "%s%" PRId64, comma(&s->tokens), line->tokens[i].id);
        buf_printf(&s->reasons, "%s\"%s\"", comma(&s->reasons), line->tokens[i].unsendable);
        s->has_dead = true;
    }
}

// Ends each array. False: there was no memory for all of them.
static bool close_arrays(struct settled *s, struct err *e)
{
    for (int i = 0; i < ARRAYS; i++) {
        buf_append_char(array_at(s, i), '}');
        if (!buf_str(array_at(s, i)))
            return err_memory(e);
    }
    return true;
}

void settle_restart(struct collector *c)
{
    c->in_doubt = (struct in_doubt){.step = DOUBT_DUE};
    c->settle.holds_lock = false;
    c->settle.lock_count = c->settle.unlock_tag = 0; // locks end with their session
    // The answers to the question of doubt (in_doubt.h) name all our rows, also those that were to
    // be given back or read again.
    c->settle.giving_back = c->settle.alone = false;
    c->lines.reread_count = 0;
    c->settle.retry_at_ns = 0;
}

// --- settling -----------------------------------------------------------------------

// True while a line is not written whole or not answered, or a row is to be read again.
static bool has_lines(const struct collector *c)
{
    const struct lines *l = &c->lines;

    return lines_in(l, LINE_TAKEN) + lines_in(l, LINE_OUT) + l->reread_count > 0 ||
           lines_left_rest(l);
}

bool settle_in_hand(const struct collector *c)
{
    return has_lines(c) || outbox_left(&c->settle.outbox) > 0;
}

void settle_lock_asked(struct collector *c, bool given)
{
    c->settle.holds_lock = given;
    c->settle.lock_count++;
}

// Decides whether the next request, which has this tag, releases the lock for work in hand once,
// and notes that. While anything is left in hand we keep the lock, because others watch our lease
// only while we hold it.
static bool plan_unlock(struct collector *c, int tag, bool nothing_left)
{
    struct settle *s = &c->settle;

    if (s->lock_count == 0 || s->unlock_tag != 0 || !nothing_left)
        return false;
    s->lock_count--;
    s->holds_lock = false;
    s->unlock_tag = tag;
    return true;
}

// Notes that a request with this tag was answered, which may have released the lock. After an error
// (not `ok`) we may hold it still.
static void note_unlock_answer(struct collector *c, int tag, bool ok)
{
    struct settle *s = &c->settle;

    if (s->unlock_tag != tag)
        return;
    if (!ok)
        s->lock_count++; // plan_unlock has counted it as released
    s->unlock_tag = 0;
}

// Settles all lines that are written. If there is none, the request only releases the lock for work
// in hand.
static bool send_written(struct collector *c, struct err *e)
{
    struct settled *s = &c->settle.sent;
    bool with_take = false;

    open_arrays(s);
    for (int i = 0; i < c->lines.count; i++)
        if (c->lines.all[i].state == LINE_WRITTEN) {
            add_settled_line(s, &c->lines.all[i]);
            c->lines.all[i].settling = true;
        }
    // If more is to be taken, one request settles and takes: one transaction, and one flush. After
    // such a request has failed, the lines are settled alone, because the take may be what fails.
    if (!close_arrays(s, e) || (!c->settle.alone && !take_step(c, s, &with_take, e)))
        return false;
    if (with_take)
        return true;
    return queue_send_settled(&c->queue, &c->link.session, s, "written",
        plan_unlock(c, QUEUE_SETTLED, !settle_in_hand(c)), work_deadline_ns(c), e);
}

// Sends the rows to give back, which `sent` names.
static bool send_back(struct collector *c, struct err *e)
{
    return queue_send_settled(&c->queue, &c->link.session, &c->settle.sent, "back",
        plan_unlock(c, QUEUE_SETTLED, !settle_in_hand(c) && !settle_pending(c)),
        work_deadline_ns(c), e);
}

bool settle_give_back(struct collector *c, struct err *e)
{
    struct settled *s = &c->settle.sent;
    struct line *line;

    // A row to be read again may have tokens in doubt, and nobody else may write such tokens again.
    if (c->doubt.n > 0)
        return true;
    // A take that is under way may bring lines, and may read the rows in `rereads` again.
    if (session_awaits(&c->link.session, QUEUE_SETTLED) ||
        session_awaits(&c->link.session, QUEUE_TAKE) || c->settle.giving_back)
        return true;
    open_arrays(s);
    for (int i = 0; i < c->lines.reread_count; i++)
        add_row(s, c->lines.rereads[i].n, c->lines.rereads[i].nonce);
    while ((line = lines_first(&c->lines, LINE_TAKEN))) {
        add_row(s, line->n, line->nonce);
        lines_drop(line);
    }
    c->lines.reread_count = 0;
    c->settle.giving_back = true;
    // Nobody announces what is given back, so every collector has to look for it, and so do we.
    take_look_at_all(c);
    return close_arrays(s, e) && send_back(c, e);
}

// Counts the tokens of a line that is settled. Its tokens that were in doubt are not any more.
static void count_settled(struct collector *c, const struct line *line)
{
    int dead = 0;

    for (int i = 0; i < line->count; i++) {
        dead += line->tokens[i].unsendable != NULL;
        // This token was skipped because it was in doubt: an earlier session wrote it.
        if (line->tokens[i].skipped && !line->tokens[i].unsendable) {
            const struct token t = {.id = line->tokens[i].id,
                .secret = {.data = line->tokens[i].secret, .len = SIGN_SECRET_LEN}};
            doubt_mark(&c->doubt, &t);
        }
    }
    // Only dead letters: the answer to the take has counted what was passed over.
    tally_add(&c->tally, &c->metrics->meters, &(struct passed){0}, dead, c->now_ns);
    work_count(c, METER_TOKENS_SETTLED, line->sendable);
    doubt_drop_marked(&c->doubt);
    // The line left nothing over, and no row is to be read again. So no line will come for the
    // tokens that are still in doubt: they were passed over, because they were consumed, had
    // expired, or had an account whose status does not allow their action.
    if (line->none_after && c->lines.reread_count == 0 && !c->in_doubt.rows_left)
        doubt_clear(&c->doubt);
}

// With nothing in hand, and nothing that waits, no line will come for the tokens in doubt.
void settle_saw_nothing(struct collector *c)
{
    if (!settle_in_hand(c) && !settle_pending(c) && !c->in_doubt.rows_left)
        doubt_clear(&c->doubt);
}

// Forgets the lines that were being settled, because they are settled. If a line had only a part of
// its row, the row stays ours and is to be read again.
static bool end_settling(struct collector *c, struct err *e)
{
    for (int i = 0; i < c->lines.count; i++) {
        struct line *line = &c->lines.all[i];
        if (!line->settling)
            continue;
        count_settled(c, line);
        if (!line->has_rest)
            lines_drop(line);
        else if (!lines_drop_to_reread(&c->lines, line, e))
            return false;
    }
    return true;
}

// Deals with a line that was no longer ours when we settled it. Where one collector works at a time
// the queue is lost, which is an error: false. Where several collect, another one has the line: it
// is logged.
static bool lost_line(const struct collector *c, struct err *e)
{
    if (c->queue.policy->exclusive)
        return queue_fail_lost(&c->queue, e);
    log_line("QUEUE", "another collector took over a line of ours that was late");
    return true;
}

bool settle_done(struct collector *c, const PGresult *r, struct err *e)
{
    // A row of another kind is one of a take, or says that we released a lock that we did not hold.
    for (int row = 0; row < PQntuples(r); row++)
        if (column_int32(r, row, LINES_KIND) == LINES_LOST && !lost_line(c, e))
            return false;
    return end_settling(c, e);
}

// The lines stay LINE_WRITTEN, so the next request settles them again, without a take (`alone`).
void settle_failed(struct collector *c)
{
    for (int i = 0; i < c->lines.count; i++) {
        c->settle.alone = c->settle.alone || c->lines.all[i].settling;
        c->lines.all[i].settling = false;
    }
    c->settle.retry_at_ns = c->now_ns + RETRY_NS;
}

bool settle_on_settled(struct collector *c, const PGresult *r, struct err *e)
{
    bool ok = session_check(r, e);

    note_unlock_answer(c, QUEUE_SETTLED, ok);
    if (!ok) {
        settle_failed(c);
        return work_may_retry(e);
    }
    c->settle.giving_back = c->settle.alone = false;
    return settle_done(c, r, e);
}

// Notes which rows are to be read again, because their lines are over and had only a part of them.
// Skips a line until the database knows all of its answers: before, a token that was answered would
// be read again, too.
static bool reread_rests(struct collector *c, struct err *e)
{
    for (int i = 0; i < c->lines.count; i++) {
        struct line *line = &c->lines.all[i];
        if (line->state != LINE_OVER || !line->has_rest ||
            outbox_knows(&c->settle.outbox, line->n, line->nonce))
            continue;
        if (!lines_add_reread(&c->lines, line->n, line->nonce, e))
            return false;
    }
    return true;
}

bool settle_on_answered(struct collector *c, const PGresult *r, struct err *e)
{
    bool ok = session_check(r, e);

    note_unlock_answer(c, QUEUE_ANSWERED, ok);
    if (!ok) {
        outbox_lost(&c->settle.outbox);
        c->settle.retry_at_ns = c->now_ns + RETRY_NS;
        return work_may_retry(e);
    }
    outbox_confirmed(&c->settle.outbox);
    if (PQntuples(r) > 0)
        log_line("QUEUE", "%d %s late, because the line had ended; the first is for token %" PRId64,
            PQntuples(r), NOUN(PQntuples(r), "answer was", "answers were"), column_int64(r, 0, 0));
    // Some of these tokens may be due for another attempt already.
    c->take.look_at_ns = 0;
    return reread_rests(c, e);
}

// Sends the answers that are in the outbox, unless a request with answers is under way.
static bool send_answers(struct collector *c, struct err *e)
{
    const char *columns[OUTBOX_COLUMNS];

    if (session_awaits(&c->link.session, QUEUE_ANSWERED) || outbox_left(&c->settle.outbox) == 0)
        return true;
    if (!outbox_send(&c->settle.outbox, columns, e))
        return false;
    // While we hold the lock for work in hand we must renew our lease, or others free what we take
    // next. So the last answers release the lock; but not while a take is under way, which may
    // bring lines.
    bool nothing_left = !has_lines(c) && !c->settle.giving_back &&
                        outbox_sends_all(&c->settle.outbox) &&
                        !session_awaits(&c->link.session, QUEUE_TAKE);
    return queue_send_answered(&c->queue, &c->link.session, columns,
        plan_unlock(c, QUEUE_ANSWERED, nothing_left), work_deadline_ns(c), e);
}

bool settle_step(struct collector *c, struct err *e)
{
    struct session *s = &c->link.session;

    if (c->in_doubt.step == DOUBT_DUE) {
        if (session_awaits(s, QUEUE_IN_DOUBT))
            return true;
        // A line that was begun is finished first, because only then is it certain that its tokens
        // are out; where lines are answered, the answers tell that. Where several collect, we ask
        // for our rows at once, so that those of other lines can be given back meanwhile.
        if (!c->queue.policy->answers && lines_in(&c->lines, LINE_OUT) > 0)
            return c->queue.policy->exclusive || c->in_doubt.rows_asked || in_doubt_ask_rows(c, e);
        return in_doubt_ask(c, e);
    }
    if (c->in_doubt.step != DOUBT_ANSWERED)
        return true;
    // The answer to the question of doubt may have lacked some of our rows in `deliveries`
    // (rows_left). Once the rows that it named are settled, ask for the others. That comes before
    // anything new is taken, because they are older.
    if (c->in_doubt.rows_left && !settle_in_hand(c) && lines_in(&c->lines, LINE_WRITTEN) == 0)
        return session_awaits(s, QUEUE_TAKE) || in_doubt_ask(c, e);
    if (c->now_ns < c->settle.retry_at_ns) {
        work_wake_at(c, c->settle.retry_at_ns);
        return true;
    }
    if (!send_answers(c, e))
        return false;
    struct line *line = lines_first(&c->lines, LINE_WRITTEN);
    // Only one request at a time may settle lines. A take may be such a request, so it is waited
    // for. A read (ASKED_READ) never settles a line.
    if (session_awaits(s, QUEUE_SETTLED) ||
        (session_awaits(s, QUEUE_TAKE) && c->take.asked == ASKED_TAKE))
        return true;
    if (c->settle.giving_back)
        return send_back(c, e);
    if (line)
        return line->settling || send_written(c, e);
    // We may hold the lock for work in hand with nothing in hand: after a take that brought
    // nothing, because others were quicker, or after a request that failed. A request without lines
    // releases the lock.
    return c->settle.lock_count == 0 || settle_in_hand(c) || send_written(c, e);
}

bool settle_pending(const struct collector *c)
{
    return lines_in(&c->lines, LINE_WRITTEN) > 0;
}
