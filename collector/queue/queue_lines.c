#include "queue/queue_lines.h"

#include "queue_sql.h"

bool queue_send_prepare_lines(struct session *s, int64_t deadline_ns, struct err *e)
{
    static const struct {
        const char *name, *sql;
    } statements[] = {
        {"lines", queue_sql_lines},
        {"read", queue_sql_read},
        {"settled", queue_sql_settled},
        {"passed", queue_sql_passed},
        {"answered", queue_sql_answered},
        {"in_doubt", queue_sql_in_doubt},
        {"peers", queue_sql_peers},
    };

    // They are prepared once in each session, in the trip that sets it up, because parsing them at
    // each use would delay each line.
    for (size_t i = 0; i < sizeof statements / sizeof *statements; i++)
        if (!session_prepare(s, QUEUE_QUIET, statements[i].name, statements[i].sql, deadline_ns, e))
            return false;
    return true;
}

bool queue_send_take(const struct queue *q, struct session *s, const struct take_request *r,
    int64_t deadline_ns, struct err *e)
{
    char epoch[SESSION_NUMBER_LEN], wanted[SESSION_NUMBER_LEN], fewest[SESSION_NUMBER_LEN],
        lines[SESSION_NUMBER_LEN], due[SESSION_NUMBER_LEN], burst[SESSION_NUMBER_LEN],
        daily[SESSION_NUMBER_LEN], ageing[SESSION_NUMBER_LEN], per_s[32];
    const struct settled *d = r->settled;

    // A rate of 0 says that there is no budget; the burst and the day's limit count for nothing
    // then.
    snprintf(per_s, sizeof per_s, "%.9g", q->budget ? q->budget->per_s : 0);
    return session_execute(s, QUEUE_TAKE, "lines",
        SESSION_PARAMS(q->name, q->number,
            // A take of an older epoch fails. Where several collect, they have no epoch: null.
            q->policy->exclusive ? session_number(epoch, q->epoch) : NULL,
            session_number(wanted, q->limit), session_number(fewest, r->fewest),
            session_number(lines, r->lines), q->policy->answers ? "t" : "f", r->again,
            r->due_ms < 0 ? NULL : session_number(due, r->due_ms), per_s,
            session_number(burst, q->budget ? q->budget->burst : 1),
            session_number(daily, q->budget ? q->budget->daily : 0), r->aged ? "t" : "f",
            // Rounded up, so that a lower lane never goes first too early.
            session_number(ageing, (q->ageing_ms + 999) / 1000), r->lock ? "t" : "f",
            d ? d->lines.data : "{}", d ? d->nonces.data : "{}",
            d && d->has_ends ? d->ends.data : NULL, d && d->has_dead ? d->tokens.data : NULL,
            d && d->has_dead ? d->reasons.data : NULL, d ? d->cursor_to : NULL),
        deadline_ns, e);
}

bool queue_send_read(const struct queue *q, struct session *s, int wanted, const char *behind,
    int64_t deadline_ns, struct err *e)
{
    char epoch[SESSION_NUMBER_LEN], tokens[SESSION_NUMBER_LEN];

    return session_execute(s, QUEUE_TAKE, "read",
        SESSION_PARAMS(
            q->name, session_number(epoch, q->epoch), session_number(tokens, wanted), behind),
        deadline_ns, e);
}

bool queue_send_settled(const struct queue *q, struct session *s, const struct settled *d,
    const char *outcome, bool unlock, int64_t deadline_ns, struct err *e)
{
    // If only the cursor moves, and no row is named (`lines` is "{}"), a shorter statement does.
    if (d->cursor_to && d->lines.len == 2 && !d->has_dead && !unlock)
        return session_execute(s, QUEUE_SETTLED, "passed",
            SESSION_PARAMS(q->name, q->number, d->cursor_to), deadline_ns, e);
    return session_execute(s, QUEUE_SETTLED, "settled",
        SESSION_PARAMS(q->name, q->number, d->lines.data, d->nonces.data, outcome,
            d->has_ends ? d->ends.data : NULL, d->has_dead ? d->tokens.data : NULL,
            d->has_dead ? d->reasons.data : NULL, unlock ? "t" : "f", d->cursor_to),
        deadline_ns, e);
}

bool queue_send_answered(const struct queue *q, struct session *s, const char *c[OUTBOX_COLUMNS],
    bool unlock, int64_t deadline_ns, struct err *e)
{
    return session_execute(s, QUEUE_ANSWERED, "answered",
        SESSION_PARAMS(
            q->name, q->number, c[0], c[1], c[2], c[3], c[4], c[5], c[6], c[7], unlock ? "t" : "f"),
        deadline_ns, e);
}

bool queue_send_in_doubt(const struct queue *q, struct session *s, const char *tokens,
    int64_t deadline_ns, struct err *e)
{
    return session_execute(
        s, QUEUE_IN_DOUBT, "in_doubt", SESSION_PARAMS(q->name, q->number, tokens), deadline_ns, e);
}

// Calls mailroom_peers. `epoch`: that of our claim; NULL: we want to claim or join the queue.
static bool send_peers(const struct queue *q, struct session *s, int tag, const char *epoch,
    const struct peers_request *r, int64_t deadline_ns, struct err *e)
{
    const struct run *run = r->run;
    char gone[32] = "{}", counters[32] = "{}", answered[SESSION_NUMBER_LEN],
         hung[SESSION_NUMBER_LEN];

    // mailroom_peers would free any number of owners at once. We name one in each request, so that
    // the log can say whose tokens were freed.
    if (r->gone) {
        snprintf(gone, sizeof gone, "{%" PRId64 "}", r->gone->number);
        snprintf(counters, sizeof counters, "{%" PRId64 "}", r->gone->renewed);
    }
    return session_execute(s, tag, "peers",
        SESSION_PARAMS(q->name, q->number, q->policy->name, q->self, epoch, r->renew ? "t" : "f",
            r->new_cursor ? "t" : "f", gone, counters,
            !r->gone         ? "{}"
            : r->gone->alive ? "{t}"
                             : "{f}",
            r->leave, run ? run->host : NULL, run ? MAILROOM_VERSION : NULL,
            run ? run->settings : NULL, session_number(answered, r->answered), r->over,
            r->hung > 0 ? session_number(hung, r->hung) : NULL),
        deadline_ns, e);
}

bool queue_send_join(const struct queue *q, struct session *s, const struct peers_request *r,
    int64_t deadline_ns, struct err *e)
{
    return send_peers(q, s, QUEUE_JOIN, NULL, r, deadline_ns, e);
}

bool queue_send_peers(const struct queue *q, struct session *s, const struct peers_request *r,
    int64_t deadline_ns, struct err *e)
{
    char epoch[SESSION_NUMBER_LEN];

    return send_peers(q, s, r->leave ? QUEUE_QUIET : QUEUE_PEERS, session_number(epoch, q->epoch),
        r, deadline_ns, e);
}
