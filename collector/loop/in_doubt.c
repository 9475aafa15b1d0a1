// After a lost session the database is the truth. One request asks which rows are still ours, and
// which tokens of lines that were out still wait. A row whose line we do not know is read again. A
// token that still waits stays in doubt: it is settled when it is taken again, and not written a
// second time. To settle all tokens up to the last one in doubt instead would lose the tokens in
// between.
//
// Where lines are answered, nothing is in doubt: the answers tell what was sent, and a result is
// sent again until the database confirms it. By the nonce of the result's row the database knows
// which results it has recorded already.
#include "loop/in_doubt.h"

#include "base/log.h"
#include "loop/work.h"
#include "queue/queue_lines.h"
#include "session/column.h"

#define ROWS_MOST 1000 // most rows of ours that one answer names

// True when a line is out and not settled, so that a lost session puts it in doubt. Where lines are
// answered, none is in doubt, because the answers tell.
static bool doubtful(const struct collector *c, const struct line *line)
{
    return !c->queue.policy->answers && (line->state == LINE_OUT || line->state == LINE_WRITTEN);
}

bool in_doubt_ask(struct collector *c, struct err *e)
{
    struct buf ids FREED_BY(buf_fini) = BUF_INIT(SIZE_MAX);

    buf_append_char(&ids, '{');
    // The question names the tokens of lines that were out when the session ended, and those that
    // were in doubt before.
    for (int i = 0; i < c->lines.count; i++) {
        const struct line *line = &c->lines.all[i];
        for (int k = 0; doubtful(c, line) && k < line->count; k++)
            buf_printf(&ids, "%s%" PRId64, ids.len > 1 ? "," : "", line->tokens[k].id);
    }
    doubt_add_ids(&c->doubt, &ids);
    buf_append_char(&ids, '}');
    c->in_doubt.step = DOUBT_ASKED;
    if (!buf_str(&ids))
        return err_memory(e);
    return queue_send_in_doubt(&c->queue, &c->link.session, ids.data, work_deadline_ns(c), e);
}

bool in_doubt_ask_rows(struct collector *c, struct err *e)
{
    c->in_doubt.rows_asked = true;
    return queue_send_in_doubt(&c->queue, &c->link.session, "{}", work_deadline_ns(c), e);
}

// Puts the tokens of a line that is out in doubt, and forgets the line. Its row may still be ours;
// or it may not, because the line was settled, a failover has lost the take, or another collector
// has the row. In each case a token that still waits must not be written again, and a token that
// does not wait is settled.
static bool doubt_line(struct collector *c, struct line *line, struct err *e)
{
    for (int i = 0; i < line->count; i++) {
        const struct line_token *t = &line->tokens[i];
        if (t->skipped) // not written with this line: in doubt already, or unsendable
            continue;
        const struct token token = {
            .id = t->id, .secret = {.data = t->secret, .len = sizeof t->secret}};
        if (!doubt_add(&c->doubt, &token, e))
            return false;
    }
    lines_drop(line);
    return true;
}

// True when the answer to the question of doubt has ROWS_MOST rows of ours, so some may be missing.
static bool may_lack_rows(const PGresult *r)
{
    return PQntuples(r) >= ROWS_MOST && !PQgetisnull(r, ROWS_MOST - 1, 0);
}

// Gives up the lines that wait for answers, but whose rows others have freed: an answer that still
// comes for such a line is late. If the row of a line that is over was freed, the tokens of the row
// that were not in the line (has_rest) are not ours any more. `r`: the answer to the question of
// doubt.
static void give_up_freed(struct collector *c, const PGresult *r)
{
    for (int i = 0; i < c->lines.count; i++) {
        struct line *line = &c->lines.all[i];
        bool over = line->state == LINE_OVER && line->has_rest;
        // If some of our rows may be missing, each line counts as ours.
        bool ours = may_lack_rows(r);
        if ((line->state != LINE_OUT && !over) || !c->queue.policy->answers)
            continue;
        for (int row = 0; row < PQntuples(r); row++)
            ours = ours ||
                   (column_int64(r, row, 0) == line->n && column_int64(r, row, 1) == line->nonce);
        // A row may also be gone because results that the outbox still has were recorded before the
        // session was lost.
        if (ours || outbox_knows(&c->settle.outbox, line->n, line->nonce))
            continue;
        line->has_rest = false;
        if (over)
            continue;
        log_line("QUEUE", "another collector took us for dead, and has freed a line of %d %s",
            line->count, NOUN(line->count, "token", "tokens"));
        for (int t = 0; t < line->count; t++)
            line->tokens[t].given_up = !line->tokens[t].answered;
        line->left = 0;
        line->state = LINE_OVER;
        c->ending.returned = c->ending.returned || work_stopping(c);
    }
}

// Notes the rows of ours of which no line of this process knows: the answer to their take was lost,
// or their lines were dropped with the session. They are read again, and go out before what comes
// later. The answer has n and nonce of each of our rows in columns 0 and 1, before all other rows.
static bool reread_unknown_rows(struct collector *c, const PGresult *r, struct err *e)
{
    for (int row = 0; row < PQntuples(r) && !PQgetisnull(r, row, 0); row++) {
        int64_t n = column_int64(r, row, 0), nonce = column_int64(r, row, 1);
        if (!lines_knows(&c->lines, n, nonce) && !outbox_knows(&c->settle.outbox, n, nonce) &&
            !lines_add_reread(&c->lines, n, nonce, e))
            return false;
    }
    return true;
}

bool in_doubt_on_answer(struct collector *c, const PGresult *r, struct err *e)
{
    if (!session_check(r, e))
        return false;
    if (PQnfields(r) != 4)
        return err_set(e, ERR_INTERNAL, "the server's answer on lines is not what was asked for");
    if (c->in_doubt.step == DOUBT_DUE) // in_doubt_ask_rows has asked only which rows are ours
        return reread_unknown_rows(c, r, e);
    // First the tokens of our lines are put in doubt, so that those that the answer names as
    // waiting can be marked.
    for (int i = 0; i < c->lines.count; i++) {
        struct line *line = &c->lines.all[i];
        if (doubtful(c, line) && !doubt_line(c, line, e))
            return false;
    }
    give_up_freed(c, r);
    doubt_close(&c->doubt); // sorts them, for doubt_mark
    if (!reread_unknown_rows(c, r, e))
        return false;
    // The other rows have the id and the secret of a token that waits in columns 2 and 3.
    for (int row = 0; row < PQntuples(r); row++) {
        if (!PQgetisnull(r, row, 0))
            continue;
        struct token t = {.id = column_int64(r, row, 2), .secret = column_field(r, row, 3)};
        doubt_mark(&c->doubt, &t);
    }
    // The tokens that are not marked do not wait any more, so they cannot come twice.
    doubt_keep_marked(&c->doubt);
    c->in_doubt.step = DOUBT_ANSWERED;
    // The answer names at most ROWS_MOST rows; the others are asked for once these are settled.
    c->in_doubt.rows_left = may_lack_rows(r);
    c->take.look_at_ns = 0; // look at once
    return true;
}
