#include "queue.h"

#include <assert.h>
#include <endian.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <openssl/rand.h>

#include "base/clock.h"
#include "queue_sql.h"

#define PARAMS(...)                                                                                \
    (struct session_params)                                                                        \
    {                                                                                              \
        .n = sizeof((const char *const[]){__VA_ARGS__}) / sizeof(const char *),                    \
        .values = (const char *const[])                                                            \
        {                                                                                          \
            __VA_ARGS__                                                                            \
        }                                                                                          \
    }

#define NUMBER_LEN 24

static const char *number(char text[NUMBER_LEN], int64_t n)
{
    snprintf(text, NUMBER_LEN, "%" PRId64, n);
    return text;
}

static const char *xid_number(char text[NUMBER_LEN], uint64_t xid)
{
    snprintf(text, NUMBER_LEN, "%" PRIu64, xid);
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

bool batch_init(struct batch *b, const struct queue *q, struct err *e)
{
    *b = (struct batch){.rows = calloc((size_t)q->rows_max, sizeof *b->rows)};
    return b->rows || err_sys(e, ERR_SYSTEM, "no memory for a batch limit of %d", q->limit);
}

void batch_clear(struct batch *b)
{
    struct row *rows = b->rows;

    PQclear(b->result);
    *b = (struct batch){.rows = rows};
}

void batch_fini(struct batch *b)
{
    batch_clear(b);
    free(b->rows);
    *b = (struct batch){0};
}

void queue_new_session(struct queue *q)
{
    // A session that did not get as far as to know its backend leaves the
    // predecessor what it was.
    if (!q->pid[0])
        return;
    memcpy(q->predecessor_pid, q->pid, sizeof q->pid);
    memcpy(q->predecessor_since, q->since, sizeof q->since);
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

static bool send_prepare(
    const struct queue *q, struct session *s, int64_t deadline_ns, struct err *e)
{
    const char *read = q->shared ? queue_sql_skip_read : queue_sql_read;
    const char *advance = q->shared ? queue_sql_skip_advance : queue_sql_advance;

    return session_prepare(s, QUEUE_PREPARE, "read", read, deadline_ns, e) &&
           session_prepare(s, QUEUE_PREPARE, "advance", advance, deadline_ns, e) &&
           (!q->shared ||
               session_prepare(s, QUEUE_PREPARE, "claim", queue_sql_skip_claim, deadline_ns, e));
}

bool queue_send_setup(const struct queue *q, struct session *s, int64_t deadline_ns, struct err *e)
{
    const struct session_params none = {0};

    // LISTEN before the first read: what is committed in between is announced.
    if (!session_query(s, QUEUE_SETTINGS, queue_sql_settings, none, deadline_ns, e) ||
        !session_query(s, QUEUE_SCHEMA, queue_sql_schema, none, deadline_ns, e) ||
        !send_listen(q, s, deadline_ns, e) || !send_prepare(q, s, deadline_ns, e))
        return false;
    if (!q->predecessor_pid[0])
        return true;
    return session_query(s, QUEUE_TERMINATE, queue_sql_terminate,
        PARAMS(q->predecessor_pid, q->predecessor_since), deadline_ns, e);
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
        return session_query(
            s, QUEUE_LOCK, queue_sql_skip_lock, PARAMS(q->name, q->claimant), deadline_ns, e);
    return session_query(s, QUEUE_LOCK, queue_sql_lock,
        PARAMS(q->name, q->self, take ? "true" : "false", q->holder), deadline_ns, e);
}

bool queue_decode_lock(struct queue *q, const PGresult *r, enum queue_lock *lock, struct err *e)
{
    if (!session_check(r, e))
        return false;
    if (PQntuples(r) != 1)
        return err_set(e, ERR_USAGE,
            "MAILROOM_QUEUE_NAME is '%s'; allowed is a job_type that has a row in the table jobs",
            q->name);
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

bool queue_send_restamp(const struct queue *q, struct session *s, struct err *e)
{
    static const char patient[] = "SELECT set_config('statement_timeout', '0', false)";
    static const char usual[] = "SELECT set_config('statement_timeout', '4s', false)";
    const struct session_params none = {0};

    return session_query(s, QUEUE_SETTINGS, patient, none, CLOCK_NEVER, e) &&
           session_query(s, QUEUE_RESTAMP, queue_sql_restamp, PARAMS(q->name), CLOCK_NEVER, e) &&
           session_query(s, QUEUE_SETTINGS, usual, none, CLOCK_NEVER, e);
}

bool queue_send_switch(const struct queue *q, struct session *s, int64_t deadline_ns, struct err *e)
{
    return session_query(s, QUEUE_SWITCH, queue_sql_switch_mode,
        PARAMS(q->name, q->shared ? "skip-locked" : "cursor"), deadline_ns, e);
}

bool queue_send_take(const struct queue *q, struct session *s, int wanted, int examine, int fewest,
    int64_t deadline_ns, struct err *e)
{
    char want[NUMBER_LEN], most[NUMBER_LEN], least[NUMBER_LEN];

    return session_execute(s, QUEUE_READ, "claim",
        PARAMS(q->claimant, number(want, wanted), number(most, examine), number(least, fewest)),
        true, deadline_ns, e);
}

bool queue_send_unclaim(
    const struct queue *q, struct session *s, int64_t deadline_ns, struct err *e)
{
    return session_query(
        s, QUEUE_UNCLAIM, queue_sql_skip_release, PARAMS(q->claimant), deadline_ns, e);
}

bool queue_send_orphans(struct session *s, const char *gone, int64_t deadline_ns, struct err *e)
{
    return session_query(s, QUEUE_ORPHANS, queue_sql_skip_orphans, PARAMS(gone), deadline_ns, e);
}

bool queue_send_claim(const struct queue *q, struct session *s, int64_t deadline_ns, struct err *e)
{
    if (q->shared)
        return session_query(
            s, QUEUE_CLAIM, queue_sql_skip_release, PARAMS(q->claimant), deadline_ns, e);
    return session_query(
        s, QUEUE_CLAIM, queue_sql_claim, PARAMS(q->name, q->self, q->holder), deadline_ns, e);
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
    if (q->shared ? queue_send_unclaim(q, s, deadline_ns, &ignored)
                  : session_query(s, QUEUE_RELEASE, queue_sql_release, PARAMS(q->name, q->self),
                        deadline_ns, &ignored))
        return;
}

bool queue_send_read(const struct queue *q, struct session *s, int wanted, int examine,
    int64_t deadline_ns, struct err *e)
{
    char want[NUMBER_LEN], most[NUMBER_LEN];

    assert(wanted <= q->rows_max);
    return session_execute(s, QUEUE_READ, "read",
        PARAMS(q->shared ? q->claimant : q->name, number(want, wanted), number(most, examine)),
        true, deadline_ns, e);
}

// The columns of read.sql, in binary.
enum {
    KIND,
    XID,
    ID,
    ACCOUNT,
    ACTION,
    EMAIL,
    LOGIN,
    SECRET,
    CODE,
    EXAMINED,
    EXPIRED,
    CONSUMED,
    HORIZON,
    COLUMNS
};

static int64_t int64_at(const PGresult *r, int row, int column)
{
    uint64_t big;

    assert(PQgetlength(r, row, column) == sizeof big);
    memcpy(&big, PQgetvalue(r, row, column), sizeof big);
    return (int64_t)be64toh(big);
}

static int32_t int32_at(const PGresult *r, int row, int column)
{
    uint32_t big;

    assert(PQgetlength(r, row, column) == sizeof big);
    memcpy(&big, PQgetvalue(r, row, column), sizeof big);
    return (int32_t)be32toh(big);
}

static struct field field_at(const PGresult *r, int row, int column)
{
    if (PQgetisnull(r, row, column))
        return (struct field){0};
    return (struct field){
        .data = PQgetvalue(r, row, column), .len = (size_t)PQgetlength(r, row, column)};
}

static struct position position_at(const PGresult *r, int row)
{
    return (struct position){.xid = (uint64_t)int64_at(r, row, XID), .id = int64_at(r, row, ID)};
}

// `eligible` rows came up to here; the rest of what was examined was passed.
static struct passed passed_at(const PGresult *r, int row, int eligible)
{
    struct passed p = {
        .expired = int64_at(r, row, EXPIRED), .consumed = int64_at(r, row, CONSUMED)};

    p.status = int64_at(r, row, EXAMINED) - eligible - p.expired - p.consumed;
    return p;
}

static void decode_row(const PGresult *r, int i, struct row *row)
{
    row->at = position_at(r, i);
    row->passed = passed_at(r, i, i + 1);
    row->token = (struct token){
        .id = row->at.id,
        .account = int64_at(r, i, ACCOUNT),
        .action = (enum token_action)int32_at(r, i, ACTION),
        .email = field_at(r, i, EMAIL),
        .login = field_at(r, i, LOGIN),
        .secret = field_at(r, i, SECRET),
        .code = field_at(r, i, CODE),
    };
    row->unsendable = line_unsendable(&row->token);
}

static void decode_end(const PGresult *r, int last, int examine, struct batch *b)
{
    b->examined = int64_at(r, last, EXAMINED);
    b->more = b->examined >= examine;
    b->all = !b->more;
    b->horizon = PQgetvalue(r, last, HORIZON)[0] != 0;
    if (b->examined == 0)
        return;
    b->end = position_at(r, last);
    b->passed = passed_at(r, last, b->n);
}

bool queue_decode_read(
    const struct queue *q, PGresult *r, int wanted, int examine, struct batch *b, struct err *e)
{
    batch_clear(b);
    b->result = r;
    if (!session_check(r, e))
        return false;
    int rows = PQntuples(r);
    if (PQnfields(r) != COLUMNS || rows == 0 || rows > wanted)
        return err_set(e, ERR_INTERNAL, "the server's answer to a read makes no sense");
    for (int i = 0; i < rows; i++) {
        if (int32_at(r, i, KIND) == 0) {
            decode_end(r, i, examine, b);
            return true;
        }
        struct row *row = &b->rows[b->n++];
        decode_row(r, i, row);
        b->sendable += !row->unsendable;
        b->end = row->at;
        b->passed = row->passed;
        b->examined = int64_at(r, i, EXAMINED);
        if (b->sendable == q->limit)
            return true;
    }
    return true;
}

struct position batch_end(const struct batch *b, int n, struct passed *passed)
{
    *passed = n == b->n ? b->passed : b->rows[n - 1].passed;
    return n == b->n ? b->end : b->rows[n - 1].at;
}

// One array literal for each column of the dead letters.
struct dead_letters {
    struct buf ids; // of all rows, dead or not; only skip-locked needs them
    struct buf tokens, accounts, actions, reasons;
};

static bool collect_dead(
    const struct queue *q, struct dead_letters *d, const struct batch *b, int n)
{
    struct buf *all[] = {&d->tokens, &d->accounts, &d->actions, &d->reasons, &d->ids};
    const size_t columns = sizeof all / sizeof *all;
    const char *comma = "";

    for (size_t i = 0; i < columns; i++) {
        buf_init(all[i], SIZE_MAX);
        buf_append_char(all[i], '{');
    }
    for (int i = 0; i < n; i++) {
        const struct row *row = &b->rows[i];
        if (q->shared)
            buf_printf(&d->ids, "%s%" PRId64, i > 0 ? "," : "", row->token.id);
        if (!row->unsendable)
            continue;
        buf_printf(&d->tokens, "%s%" PRId64, comma, row->token.id);
        buf_printf(&d->accounts, "%s%" PRId64, comma, row->token.account);
        buf_printf(&d->actions, "%s%s", comma,
            row->token.action == TOKEN_ACTIVATION ? "activation" : "password_recovery");
        buf_printf(&d->reasons, "%s\"%s\"", comma, row->unsendable);
        comma = ",";
    }
    bool ok = true;
    for (size_t i = 0; i < columns; i++)
        ok = buf_append(all[i], "}", 2) && !all[i]->failed && ok;
    return ok;
}

static void free_dead(struct dead_letters *d)
{
    buf_fini(&d->ids);
    buf_fini(&d->tokens);
    buf_fini(&d->accounts);
    buf_fini(&d->actions);
    buf_fini(&d->reasons);
}

static bool send_cursor(const struct queue *q, struct session *s, int tag, struct position to,
    const struct dead_letters *d, int64_t deadline_ns, struct err *e)
{
    char epoch[NUMBER_LEN], old_xid[NUMBER_LEN], old_id[NUMBER_LEN], xid[NUMBER_LEN],
        id[NUMBER_LEN];

    return session_execute(s, tag, "advance",
        PARAMS(q->name, number(epoch, q->epoch), xid_number(old_xid, q->cursor.xid),
            number(old_id, q->cursor.id), xid_number(xid, to.xid), number(id, to.id),
            d->tokens.data, d->accounts.data, d->actions.data, d->reasons.data),
        false, deadline_ns, e);
}

bool queue_send_advance(const struct queue *q, struct session *s, int tag, const struct batch *b,
    int n, int64_t deadline_ns, struct err *e)
{
    struct passed passed;
    struct dead_letters d = {0};
    bool ok = collect_dead(q, &d, b, n) || err_set(e, ERR_SYSTEM, "no memory for dead letters");

    if (ok && q->shared)
        ok = session_execute(s, tag, "advance",
            PARAMS(q->claimant, d.ids.data, d.tokens.data, d.accounts.data, d.actions.data,
                d.reasons.data),
            false, deadline_ns, e);
    else if (ok)
        ok = send_cursor(q, s, tag, batch_end(b, n, &passed), &d, deadline_ns, e);
    free_dead(&d);
    return ok;
}

bool queue_decode_advance(const struct queue *q, const PGresult *r, bool *moved, struct err *e)
{
    if (!session_check(r, e))
        return false;
    *moved = q->shared || strcmp(PQgetvalue(r, 0, 0), "1") == 0;
    return true;
}

static bool same_token(const struct row *a, const struct row *b)
{
    const struct field *x = &a->token.secret, *y = &b->token.secret;

    return a->token.id == b->token.id && x->len == y->len && memcmp(x->data, y->data, x->len) == 0;
}

int batch_find_written(const struct batch *b, const struct batch *written, int *matched)
{
    int end = 0;
    int hint = 0; // both have the same order, so the next match is the next row

    *matched = 0;
    for (int i = 0; i < b->n; i++) {
        if (b->rows[i].unsendable)
            continue;
        for (int k = 0; k < written->n; k++) {
            int j = (hint + k) % written->n;
            if (written->rows[j].unsendable || !same_token(&b->rows[i], &written->rows[j]))
                continue;
            hint = j + 1;
            end = i + 1;
            ++*matched;
            break;
        }
    }
    return end;
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
    return session_query(s, QUEUE_CHECK, queue_sql_check, PARAMS(q->channel), deadline_ns, e);
}

bool queue_decode_check(const PGresult *r, struct err *e)
{
    if (!session_check(r, e))
        return false;
    if (PQgetvalue(r, 0, 0)[0] != 't')
        return err_set(e, ERR_CONNECTION, "the server has forgotten our LISTEN");
    return true;
}
