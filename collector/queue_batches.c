#include "queue_batches.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dead.h"
#include "queue_sql.h"

static const char *xid_number(char text[SESSION_NUMBER_LEN], uint64_t xid)
{
    snprintf(text, SESSION_NUMBER_LEN, "%" PRIu64, xid);
    return text;
}

int queue_examine(const struct queue *q)
{
    return q->limit > 250 ? 4 * q->limit : 1000;
}

bool queue_send_read(const struct queue *q, struct session *s, int wanted, int examine,
    int64_t deadline_ns, struct err *e)
{
    char want[SESSION_NUMBER_LEN], most[SESSION_NUMBER_LEN], first[SESSION_NUMBER_LEN];

    session_number(want, wanted);
    session_number(most, examine);
    if (queue_takes(q))
        return session_execute_binary(s, QUEUE_READ, q->lanes ? "look_lanes" : "look",
            SESSION_PARAMS(q->name, want, most, q->number, session_number(first, q->first), "0"),
            deadline_ns, e);
    return session_execute_binary(
        s, QUEUE_READ, "read", SESSION_PARAMS(q->name, want, most), deadline_ns, e);
}

bool queue_send_ahead(const struct queue *q, struct session *s, const struct batch *last,
    int64_t deadline_ns, struct err *e)
{
    char want[SESSION_NUMBER_LEN], most[SESSION_NUMBER_LEN], xid[SESSION_NUMBER_LEN],
        id[SESSION_NUMBER_LEN], to[SESSION_NUMBER_LEN];

    return session_execute_binary(s, QUEUE_READ, "ahead",
        SESSION_PARAMS(q->name, session_number(want, q->limit),
            session_number(most, queue_examine(q)), xid_number(xid, last->end.xid),
            session_number(id, last->end.id), xid_number(to, last->stretch)),
        deadline_ns, e);
}

bool queue_send_stock(const struct queue *q, struct session *s, struct position after, int wanted,
    int examine, int64_t deadline_ns, struct err *e)
{
    char want[SESSION_NUMBER_LEN], most[SESSION_NUMBER_LEN], n[SESSION_NUMBER_LEN],
        id[SESSION_NUMBER_LEN];

    return session_execute_binary(s, QUEUE_READ, "stock",
        SESSION_PARAMS(q->name, session_number(want, wanted), session_number(most, examine),
            q->number, xid_number(n, after.xid), session_number(id, after.id)),
        deadline_ns, e);
}

static bool send_adopt_first(
    const struct queue *q, struct session *s, const struct owner *whose, struct err *e)
{
    char other[SESSION_NUMBER_LEN], limit[SESSION_NUMBER_LEN], epoch[SESSION_NUMBER_LEN],
        first[SESSION_NUMBER_LEN];

    session_number(other, whose->number);
    if (q->policy->exclusive)
        return session_query_first(s, queue_sql_adopt_whole,
            SESSION_PARAMS(q->name, other, q->number, session_number(epoch, q->epoch),
                session_number(first, q->first)),
            e);
    return session_query_first(s, queue_sql_adopt,
        SESSION_PARAMS(
            q->name, other, q->number, session_number(limit, q->limit), whose->alive ? "t" : "f"),
        e);
}

bool queue_send_adopt(const struct queue *q, struct session *s, const struct owner *whose,
    int64_t deadline_ns, struct err *e)
{
    int most = queue_examine(q);

    if (whose && !send_adopt_first(q, s, whose, e))
        return false;
    // Asks for as many rows as a read may examine, because rows that cannot be sent fill no line.
    return session_query_first(s, queue_sql_hold, SESSION_PARAMS(q->name, q->number), e) &&
           queue_send_stock(
               q, s, (struct position){.xid = (uint64_t)q->first}, most, most, deadline_ns, e);
}

bool queue_send_take(const struct queue *q, struct session *s, const struct take *t,
    int64_t deadline_ns, struct err *e)
{
    char want[SESSION_NUMBER_LEN], most[SESSION_NUMBER_LEN], limit[SESSION_NUMBER_LEN],
        step[SESSION_NUMBER_LEN], have[SESSION_NUMBER_LEN], epoch[SESSION_NUMBER_LEN],
        ageing[SESSION_NUMBER_LEN];
    struct session_params p =
        SESSION_PARAMS(q->name, session_number(want, t->wanted), session_number(most, t->examine),
            q->number, session_number(limit, q->limit), session_number(step, t->step),
            session_number(have, t->have), session_number(epoch, q->epoch), t->aged ? "t" : "f",
            session_number(ageing, (q->ageing_ms + 999) / 1000));

    if (!q->lanes)
        p.n -= 3;
    return session_execute_first(s, "take_lock", SESSION_PARAMS(q->name), e) &&
           session_execute(s, QUEUE_TAKE, q->lanes ? "take_lanes" : "take", p, deadline_ns, e);
}

bool queue_decode_take(
    const PGresult *r, int *taken, bool *every, struct passed *passed, struct err *e)
{
    if (!session_check_row(r, e))
        return false;
    *taken = (int)strtol(PQgetvalue(r, 0, 0), NULL, 10);
    *every = PQgetvalue(r, 0, 1)[0] == 't';
    *passed = (struct passed){.expired = strtoll(PQgetvalue(r, 0, 2), NULL, 10),
        .consumed = strtoll(PQgetvalue(r, 0, 3), NULL, 10)};
    return true;
}

bool queue_send_spend(
    const struct queue *q, struct session *s, int tokens, int64_t deadline_ns, struct err *e)
{
    char wanted[SESSION_NUMBER_LEN], burst[SESSION_NUMBER_LEN], daily[SESSION_NUMBER_LEN],
        per_s[32];

    snprintf(per_s, sizeof per_s, "%.9g", q->budget->per_s);
    return session_query(s, QUEUE_SPEND, queue_sql_spend,
        SESSION_PARAMS(q->name, session_number(wanted, tokens), per_s,
            session_number(burst, q->budget->burst), session_number(daily, q->budget->daily)),
        deadline_ns, e);
}

bool queue_decode_spend(const PGresult *r, int *granted, int64_t *wait_ms, struct err *e)
{
    if (!session_check_row(r, e))
        return false;
    *granted = (int)strtol(PQgetvalue(r, 0, 0), NULL, 10);
    *wait_ms = strtoll(PQgetvalue(r, 0, 1), NULL, 10);
    return true;
}

static bool send_move(const struct queue *q, struct session *s, const struct batch *b,
    const struct dead *d, int64_t deadline_ns, struct err *e)
{
    char n[SESSION_NUMBER_LEN], xid[SESSION_NUMBER_LEN], id[SESSION_NUMBER_LEN];
    struct session_params p = SESSION_PARAMS(q->name, session_number(n, b->number),
        b->all || b->part == 2 ? b->now : NULL, b->all ? "t" : "f", xid_number(xid, b->end.xid),
        session_number(id, b->end.id), d->tokens.data, d->reasons.data);

    if (!d->any)
        p.n -= 2;
    return session_execute(s, QUEUE_PASS, d->any ? "move_dead" : "move", p, deadline_ns, e);
}

bool queue_send_pass(const struct queue *q, struct session *s, const struct batch *b,
    int64_t deadline_ns, struct err *e)
{
    char n[SESSION_NUMBER_LEN], id[SESSION_NUMBER_LEN], first[SESSION_NUMBER_LEN];
    struct dead d = {0};
    bool ok = dead_init(&d, b) || err_memory(e);

    if (ok && batch_is_delivery(b))
        ok = session_execute(s, QUEUE_PASS, "confirm",
            SESSION_PARAMS(session_number(n, b->number), q->number, d.tokens.data, d.reasons.data,
                session_number(id, b->end.id), q->name, session_number(first, q->first)),
            deadline_ns, e);
    else if (ok)
        ok = send_move(q, s, b, &d, deadline_ns, e);
    dead_fini(&d);
    return ok;
}

bool queue_decode_pass(const PGresult *r, bool *ours, struct err *e)
{
    if (!session_check_row(r, e))
        return false;
    *ours = strcmp(PQgetvalue(r, 0, 0), "1") == 0;
    return true;
}

bool queue_send_give_back(const struct queue *q, struct session *s, struct position after,
    int64_t deadline_ns, struct err *e)
{
    char n[SESSION_NUMBER_LEN], id[SESSION_NUMBER_LEN];

    return session_query(s, QUEUE_QUIET, queue_sql_give_back,
        SESSION_PARAMS(q->name, q->number, xid_number(n, after.xid), session_number(id, after.id)),
        deadline_ns, e);
}
