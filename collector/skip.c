#include "skip.h"

#include <inttypes.h>

#include "queue_sql.h"

bool skip_send_prepare(struct session *s, int64_t deadline_ns, struct err *e)
{
    return session_prepare(s, QUEUE_PREPARE, "read", queue_sql_skip_read, deadline_ns, e) &&
           session_prepare(s, QUEUE_PREPARE, "advance", queue_sql_skip_advance, deadline_ns, e) &&
           session_prepare(s, QUEUE_PREPARE, "claim", queue_sql_skip_claim, deadline_ns, e);
}

bool skip_send_lock(const struct queue *q, struct session *s, int64_t deadline_ns, struct err *e)
{
    return session_query(
        s, QUEUE_LOCK, queue_sql_skip_lock, SESSION_PARAMS(q->name, q->claimant), deadline_ns, e);
}

bool skip_send_take(const struct queue *q, struct session *s, int wanted, int examine, int fewest,
    int64_t deadline_ns, struct err *e)
{
    char want[SESSION_NUMBER_LEN], most[SESSION_NUMBER_LEN], least[SESSION_NUMBER_LEN];

    return session_execute(s, QUEUE_READ, "claim",
        SESSION_PARAMS(q->claimant, session_number(want, wanted), session_number(most, examine),
            session_number(least, fewest)),
        true, deadline_ns, e);
}

bool skip_send_release(
    const struct queue *q, struct session *s, int tag, int64_t deadline_ns, struct err *e)
{
    return session_query(
        s, tag, queue_sql_skip_release, SESSION_PARAMS(q->claimant), deadline_ns, e);
}

bool skip_send_orphans(struct session *s, const char *gone, int64_t deadline_ns, struct err *e)
{
    return session_query(
        s, QUEUE_ORPHANS, queue_sql_skip_orphans, SESSION_PARAMS(gone), deadline_ns, e);
}

// The ids of all rows, dead or not, and their secrets as hex.
static bool append_rows(
    struct buf *ids, struct buf *secrets, const struct batch *b, int n, struct err *e)
{
    buf_append_char(ids, '{');
    buf_append_char(secrets, '{');
    for (int i = 0; i < n; i++) {
        const struct field *secret = &b->rows[i].token.secret;
        const char *comma = i > 0 ? "," : "";
        buf_printf(ids, "%s%" PRId64, comma, b->rows[i].token.id);
        buf_printf(secrets, "%s\"\\\\x", comma);
        for (size_t k = 0; k < secret->len; k++)
            buf_printf(secrets, "%02x", (unsigned char)secret->data[k]);
        buf_append_char(secrets, '"');
    }
    return (buf_append(ids, "}", 2) && buf_append(secrets, "}", 2) && !ids->failed &&
               !secrets->failed) ||
           err_set(e, ERR_SYSTEM, "no memory for the tokens of a batch");
}

bool skip_send_confirm(const struct queue *q, struct session *s, const struct batch *b, int n,
    const struct dead *d, int64_t deadline_ns, struct err *e)
{
    struct buf ids, secrets;

    buf_init(&ids, SIZE_MAX);
    buf_init(&secrets, SIZE_MAX);
    bool ok = append_rows(&ids, &secrets, b, n, e) &&
              session_query(s, QUEUE_CONFIRM, queue_sql_skip_confirm,
                  SESSION_PARAMS(q->claimant, ids.data, d->tokens.data, d->accounts.data,
                      d->actions.data, d->reasons.data, secrets.data),
                  deadline_ns, e);
    buf_fini(&ids);
    buf_fini(&secrets);
    return ok;
}

bool skip_send_advance(const struct queue *q, struct session *s, int tag, const struct batch *b,
    int n, const struct dead *d, int64_t deadline_ns, struct err *e)
{
    struct buf ids; // of all rows, dead or not

    buf_init(&ids, SIZE_MAX);
    buf_append_char(&ids, '{');
    for (int i = 0; i < n; i++)
        buf_printf(&ids, "%s%" PRId64, i > 0 ? "," : "", b->rows[i].token.id);
    bool ok = (buf_append(&ids, "}", 2) && !ids.failed) ||
              err_set(e, ERR_SYSTEM, "no memory for the tokens of a batch");
    ok = ok && session_execute(s, tag, "advance",
                   SESSION_PARAMS(q->claimant, ids.data, d->tokens.data, d->accounts.data,
                       d->actions.data, d->reasons.data),
                   false, deadline_ns, e);
    buf_fini(&ids);
    return ok;
}
