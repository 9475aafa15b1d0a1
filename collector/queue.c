#include "queue.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <openssl/rand.h>

#include "base/clock.h"
#include "dead.h"
#include "queue_sql.h"
#include "skip.h"

static const char *xid_number(char text[SESSION_NUMBER_LEN], uint64_t xid)
{
    snprintf(text, SESSION_NUMBER_LEN, "%" PRIu64, xid);
    return text;
}

void queue_init(struct queue *q, const char *name, const char *channel, bool shared, int limit)
{
    int64_t claimant = 0;

    *q = (struct queue){.name = name, .channel = channel, .shared = shared, .limit = limit};
    RAND_bytes((unsigned char *)&claimant, sizeof claimant);
    snprintf(q->claimant, sizeof q->claimant, "%" PRId64, claimant & INT64_MAX);
    q->rows_max = limit > 250 ? 4 * limit : 1000;
    holder_self(q->self);
}

void queue_new_session(struct queue *q)
{
    // A session that was not set up may not have ended its predecessor, and had
    // no lock of its own.
    if (q->set_up) {
        memcpy(q->predecessor_pid, q->pid, sizeof q->pid);
        memcpy(q->predecessor_since, q->since, sizeof q->since);
    }
    q->set_up = false;
    q->pid[0] = q->since[0] = '\0';
}

static bool send_listen(
    const struct queue *q, struct session *s, int64_t deadline_ns, struct err *e)
{
    char sql[sizeof "LISTEN \"\"" + 126];
    char *quoted = PQescapeIdentifier(s->conn, q->channel, strlen(q->channel));

    if (!quoted)
        return err_set(
            e, ERR_USAGE, "MAILROOM_CHANNEL_NAME is '%s'; allowed is valid UTF-8", q->channel);
    snprintf(sql, sizeof sql, "LISTEN %s", quoted);
    PQfreemem(quoted);
    return session_query(s, QUEUE_LISTEN, sql, (struct session_params){0}, deadline_ns, e);
}

static bool send_prepare(struct session *s, int64_t deadline_ns, struct err *e)
{
    return session_prepare(s, QUEUE_PREPARE, "read", queue_sql_read, deadline_ns, e) &&
           session_prepare(s, QUEUE_PREPARE, "advance", queue_sql_advance, deadline_ns, e);
}

bool queue_send_setup(const struct queue *q, struct session *s, int64_t deadline_ns, struct err *e)
{
    const struct session_params none = {0};

    // LISTEN before the first read: what is committed in between is announced.
    if (!session_query(s, QUEUE_SETTINGS, queue_sql_settings, none, deadline_ns, e) ||
        !session_query(s, QUEUE_SCHEMA, queue_sql_schema, none, deadline_ns, e) ||
        !send_listen(q, s, deadline_ns, e) ||
        !(q->shared ? skip_send_prepare(s, deadline_ns, e) : send_prepare(s, deadline_ns, e)))
        return false;
    if (!q->predecessor_pid[0])
        return true;
    return session_query(s, QUEUE_TERMINATE, queue_sql_terminate,
        SESSION_PARAMS(q->predecessor_pid, q->predecessor_since), deadline_ns, e);
}

bool queue_decode_schema(const PGresult *r, struct err *e)
{
    if (!session_check(r, e))
        return false;
    if (PQgetisnull(r, 0, 0))
        return true;
    return err_set(e, ERR_SCHEMA,
        "the database lacks what migrations/%s brings; apply the migrations up to the latest",
        PQgetvalue(r, 0, 0));
}

bool queue_send_self(struct session *s, int64_t deadline_ns, struct err *e)
{
    return session_query(s, QUEUE_SELF, queue_sql_self, (struct session_params){0}, deadline_ns, e);
}

bool queue_decode_self(struct queue *q, const PGresult *r, struct err *e)
{
    if (!session_check(r, e))
        return false;
    if (PQntuples(r) != 1)
        return err_set(e, ERR_CONNECTION, "the server does not show us our own session");
    snprintf(q->pid, sizeof q->pid, "%s", PQgetvalue(r, 0, 0));
    snprintf(q->since, sizeof q->since, "%s", PQgetvalue(r, 0, 1));
    return true;
}

bool queue_send_lock(
    const struct queue *q, struct session *s, bool take, int64_t deadline_ns, struct err *e)
{
    if (q->shared)
        return skip_send_lock(q, s, deadline_ns, e);
    return session_query(s, QUEUE_LOCK, queue_sql_lock,
        SESSION_PARAMS(q->name, q->self, take ? "true" : "false", q->holder), deadline_ns, e);
}

bool queue_unknown(const char *name, struct err *e)
{
    return err_set(e, ERR_USAGE,
        "MAILROOM_QUEUE_NAME is '%s'; allowed is a job_type that has a row in the table jobs",
        name);
}

bool queue_decode_lock(struct queue *q, const PGresult *r, enum queue_lock *lock, struct err *e)
{
    if (!session_check(r, e))
        return false;
    if (PQntuples(r) != 1)
        return queue_unknown(q->name, e);
    *lock = LOCK_HELD;
    if (PQgetvalue(r, 0, 0)[0] == 't')
        *lock = LOCK_TAKEN;
    else if (PQgetvalue(r, 0, 1)[0] == 't')
        *lock = LOCK_FREE;
    snprintf(q->holder, sizeof q->holder, "%s", PQgetvalue(r, 0, 2));
    const char *mode = PQgetvalue(r, 0, 4);
    bool unused = PQgetvalue(r, 0, 5)[0] == 't';
    if (strcmp(mode, q->shared ? "skip-locked" : "cursor") != 0) {
        if (!unused)
            return err_set(e, ERR_USAGE,
                "MAILROOM_DEQUEUE is '%s', but this queue is used with '%s'; stop all collectors "
                "and run mailroom-collector --switch-mode",
                q->shared ? "skip-locked" : "cursor", mode);
        *lock = LOCK_UNUSED;
    } else if (*lock == LOCK_TAKEN && PQgetvalue(r, 0, 3)[0] == 't') {
        *lock = LOCK_MOVED;
    }
    return true;
}

// A statement that may take as long as it takes.
static bool send_patiently(
    struct session *s, int tag, const char *sql, struct session_params params, struct err *e)
{
    static const char patient[] = "SELECT set_config('statement_timeout', '0', false)";
    static const char usual[] = "SELECT set_config('statement_timeout', '4s', false)";
    const struct session_params none = {0};

    return session_query(s, QUEUE_SETTINGS, patient, none, CLOCK_NEVER, e) &&
           session_query(s, tag, sql, params, CLOCK_NEVER, e) &&
           session_query(s, QUEUE_SETTINGS, usual, none, CLOCK_NEVER, e);
}

bool queue_send_restamp(const struct queue *q, struct session *s, struct err *e)
{
    return send_patiently(s, QUEUE_RESTAMP, queue_sql_restamp, SESSION_PARAMS(q->name), e);
}

bool queue_send_switch(const struct queue *q, struct session *s, struct err *e)
{
    // Whoever inserts waits behind us while we wait for an exclusive lock.
    static const char briefly[] = "SELECT set_config('lock_timeout', '1s', false)";
    const struct session_params none = {0};

    return session_query(s, QUEUE_SETTINGS, briefly, none, CLOCK_NEVER, e) &&
           send_patiently(s, QUEUE_SWITCH, queue_sql_switch_mode,
               SESSION_PARAMS(q->name, q->shared ? "skip-locked" : "cursor"), e);
}

bool queue_send_claim(const struct queue *q, struct session *s, int64_t deadline_ns, struct err *e)
{
    if (q->shared)
        return skip_send_release(q, s, QUEUE_CLAIM, deadline_ns, e);
    return session_query(s, QUEUE_CLAIM, queue_sql_claim,
        SESSION_PARAMS(q->name, q->self, q->holder), deadline_ns, e);
}

bool queue_decode_claim(struct queue *q, const PGresult *r, struct err *e)
{
    if (!session_check(r, e))
        return false;
    if (q->shared)
        return true;
    if (PQntuples(r) != 1)
        return err_set(e, ERR_CONNECTION, "another session had the queue in between");
    q->epoch = strtoll(PQgetvalue(r, 0, 0), NULL, 10);
    q->cursor.xid = strtoull(PQgetvalue(r, 0, 1), NULL, 10);
    q->cursor.id = strtoll(PQgetvalue(r, 0, 2), NULL, 10);
    return true;
}

void queue_send_release(const struct queue *q, struct session *s, int64_t deadline_ns)
{
    struct err ignored; // others then wait for the grace

    err_clear(&ignored);
    if (q->shared ? skip_send_release(q, s, QUEUE_UNCLAIM, deadline_ns, &ignored)
                  : session_query(s, QUEUE_RELEASE, queue_sql_release,
                        SESSION_PARAMS(q->name, q->self), deadline_ns, &ignored))
        return;
}

bool queue_send_read(const struct queue *q, struct session *s, int wanted, int examine,
    int64_t deadline_ns, struct err *e)
{
    char want[SESSION_NUMBER_LEN], most[SESSION_NUMBER_LEN];

    assert(wanted <= q->rows_max);
    session_number(want, wanted);
    session_number(most, examine);
    return session_execute(s, QUEUE_READ, "read",
        q->shared ? SESSION_PARAMS(q->claimant, want, most)
                  : SESSION_PARAMS(q->name, want, most, NULL, NULL),
        true, deadline_ns, e);
}

bool queue_send_read_behind(const struct queue *q, struct session *s, struct position from,
    int64_t deadline_ns, struct err *e)
{
    char want[SESSION_NUMBER_LEN], most[SESSION_NUMBER_LEN], xid[SESSION_NUMBER_LEN],
        id[SESSION_NUMBER_LEN];

    assert(!q->shared);
    return session_execute(s, QUEUE_READ, "read",
        SESSION_PARAMS(q->name, session_number(want, q->limit), session_number(most, q->rows_max),
            xid_number(xid, from.xid), session_number(id, from.id)),
        true, deadline_ns, e);
}

static bool send_cursor(const struct queue *q, struct session *s, int tag, struct position to,
    const struct dead *d, int64_t deadline_ns, struct err *e)
{
    char epoch[SESSION_NUMBER_LEN], old_xid[SESSION_NUMBER_LEN], old_id[SESSION_NUMBER_LEN],
        xid[SESSION_NUMBER_LEN], id[SESSION_NUMBER_LEN];

    return session_execute(s, tag, "advance",
        SESSION_PARAMS(q->name, session_number(epoch, q->epoch), xid_number(old_xid, q->cursor.xid),
            session_number(old_id, q->cursor.id), xid_number(xid, to.xid),
            session_number(id, to.id), d->tokens.data, d->accounts.data, d->actions.data,
            d->reasons.data),
        false, deadline_ns, e);
}

bool queue_send_advance(const struct queue *q, struct session *s, int tag, const struct batch *b,
    int n, int64_t deadline_ns, struct err *e)
{
    struct passed passed;
    struct dead d = {0};
    bool ok = dead_init(&d, b, n) || err_set(e, ERR_SYSTEM, "no memory for dead letters");

    if (ok && tag == QUEUE_CONFIRM)
        ok = skip_send_confirm(q, s, b, n, &d, deadline_ns, e);
    else if (ok && q->shared)
        ok = skip_send_advance(q, s, tag, b, n, &d, deadline_ns, e);
    else if (ok)
        ok = send_cursor(q, s, tag, batch_end(b, n, &passed), &d, deadline_ns, e);
    dead_fini(&d);
    return ok;
}

bool queue_decode_advance(const struct queue *q, const PGresult *r, bool *moved, struct err *e)
{
    if (!session_check(r, e))
        return false;
    *moved = q->shared || strcmp(PQgetvalue(r, 0, 0), "1") == 0;
    return true;
}

bool queue_send_horizon(struct session *s, int64_t deadline_ns, struct err *e)
{
    return session_query(
        s, QUEUE_HORIZON, queue_sql_horizon, (struct session_params){0}, deadline_ns, e);
}

void queue_decode_horizon(const PGresult *r, char *text, size_t size)
{
    struct err e;

    text[0] = '\0';
    if (!session_check(r, &e))
        snprintf(text, size, "somebody who cannot be named (%s)", e.text);
    else if (PQntuples(r) == 1)
        snprintf(text, size, "%s, for %s s", PQgetvalue(r, 0, 0), PQgetvalue(r, 0, 1));
}

bool queue_send_check(const struct queue *q, struct session *s, int64_t deadline_ns, struct err *e)
{
    return session_query(
        s, QUEUE_CHECK, queue_sql_check, SESSION_PARAMS(q->channel), deadline_ns, e);
}

bool queue_decode_check(const PGresult *r, struct err *e)
{
    if (!session_check(r, e))
        return false;
    if (PQgetvalue(r, 0, 0)[0] != 't')
        return err_set(e, ERR_CONNECTION, "the server has forgotten our LISTEN");
    return true;
}
