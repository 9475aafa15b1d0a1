#include "queue.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/clock.h"
#include "column.h"
#include "queue_lines.h"
#include "queue_sql.h"
#include "random.h"

#define INVALID_TEXT "22P02" // there is no such job_type

static const struct session_params none = {0};

bool queue_init(struct queue *q, const struct config *config, struct err *e)
{
    uint64_t number;

    *q = (struct queue){.name = config->queue_name,
        .channel = config->channel_name,
        .policy = config->policy,
        .limit = (int)config->batch_limit,
        .budget = config->budget.rate ? &config->budget : NULL,
        .lanes_wanted = config->lanes,
        .ageing_ms = config->ageing_ms};
    if (!random_fill(&number, sizeof number, e))
        return false;
    // Our number is never 0, because 0 means nobody.
    snprintf(q->number, sizeof q->number, "%" PRIu64, number >> 1 | 1);
    return holder_self(q->self, e);
}

int64_t queue_patience_ms(const struct queue *q)
{
    return 4000 + q->limit / 10;
}

static bool send_patience(
    const struct queue *q, struct session *s, int64_t deadline_ns, struct err *e)
{
    char ms[SESSION_NUMBER_LEN];

    return session_query(s, QUEUE_QUIET,
        "SELECT set_config('lock_timeout', '0', false), set_config('statement_timeout', $1, false)",
        SESSION_PARAMS(session_number(ms, queue_patience_ms(q))), deadline_ns, e);
}

void queue_new_session(struct queue *q)
{
    // A session that was never set up had no lock of its own, and may not have ended its
    // predecessor.
    if (q->set_up)
        q->predecessor = q->backend;
    q->set_up = false;
    q->first = 0; // after a failover the numbers may begin lower again
    q->backend = (struct backend){0};
}

bool queue_send_listen(
    struct session *s, int tag, const char *channel, int64_t deadline_ns, struct err *e)
{
    char sql[sizeof "LISTEN \"\"" + 126];
    char *quoted = PQescapeIdentifier(s->conn, channel, strlen(channel));

    if (!quoted)
        return err_set(
            e, ERR_USAGE, "MAILROOM_CHANNEL_NAME is '%s'; it must be valid UTF-8", channel);
    snprintf(sql, sizeof sql, "LISTEN %s", quoted);
    PQfreemem(quoted);
    return session_query(s, tag, sql, none, deadline_ns, e);
}

// A statement is made of several files, in this order.
#define PARTS_MAX 8
struct statement {
    const char *name, *parts[PARTS_MAX];
};

static bool send_prepare(struct session *s, const struct statement statements[], size_t n,
    int64_t deadline_ns, struct err *e)
{
    struct buf sql;
    bool ok = true;

    buf_init(&sql, SIZE_MAX);
    for (size_t i = 0; ok && i < n; i++) {
        buf_clear(&sql);
        for (int k = 0; k < PARTS_MAX && statements[i].parts[k]; k++)
            buf_append_str(&sql, statements[i].parts[k]);
        ok = buf_str(&sql) || err_memory(e);
        ok = ok && session_prepare(s, QUEUE_QUIET, statements[i].name, sql.data, deadline_ns, e);
    }
    buf_fini(&sql);
    return ok;
}

// Prepares the statements that every session may need.
static bool send_prepare_all(struct session *s, int64_t deadline_ns, struct err *e)
{
    const struct statement statements[] = {
        {"read", {queue_sql_cursor, queue_sql_stretch, queue_sql_tokens, queue_sql_behind,
                     queue_sql_walk, queue_sql_read}},
        {"look", {queue_sql_cursor, queue_sql_stretch, queue_sql_tokens, queue_sql_ours,
                     queue_sql_both, queue_sql_walk, queue_sql_read}},
        {"ahead", {queue_sql_ahead, queue_sql_walk, queue_sql_read}},
        {"stock",
            {queue_sql_delivery, queue_sql_ours, queue_sql_mine, queue_sql_walk, queue_sql_read}},
        {"take", {queue_sql_cursor, queue_sql_stretch, queue_sql_tokens, queue_sql_take,
                     queue_sql_take_lane, queue_sql_taken}},
        {"lock", {queue_sql_cursors, queue_sql_stretch, queue_sql_ranked, queue_sql_lanes,
                     queue_sql_lock}},
        {"take_lock", {queue_sql_take_lock}},
        {"move", {queue_sql_move, queue_sql_moved}},
        {"move_dead", {queue_sql_move, queue_sql_moved_dead}},
        {"confirm", {queue_sql_confirm}},
        {"doubt", {queue_sql_doubt}},
    };

    return send_prepare(s, statements, sizeof statements / sizeof *statements, deadline_ns, e);
}

static bool send_prepare_lanes(struct session *s, int64_t deadline_ns, struct err *e)
{
    const struct statement statements[] = {
        {"look_lanes", {queue_sql_cursors, queue_sql_stretch, queue_sql_ranked, queue_sql_lanes,
                           queue_sql_ours, queue_sql_both, queue_sql_walk, queue_sql_read}},
        {"take_lanes", {queue_sql_cursors, queue_sql_stretch, queue_sql_aged, queue_sql_lanes,
                           queue_sql_take, queue_sql_take_lanes, queue_sql_taken}},
    };

    return send_prepare(s, statements, sizeof statements / sizeof *statements, deadline_ns, e);
}

bool queue_send_setup(const struct queue *q, struct session *s, int64_t deadline_ns, struct err *e)
{
    // LISTEN comes before the first read, so that commits in between are announced.
    if (!session_query(s, QUEUE_QUIET, queue_sql_settings, none, deadline_ns, e) ||
        !send_patience(q, s, deadline_ns, e) ||
        !session_query(s, QUEUE_SCHEMA, queue_sql_schema, none, deadline_ns, e) ||
        (q->budget &&
            !session_query(s, QUEUE_SCHEMA, queue_sql_schema_budget, none, deadline_ns, e)) ||
        !queue_send_listen(s, QUEUE_QUIET, q->channel, deadline_ns, e) ||
        !queue_send_check(q, s, deadline_ns, e) ||
        !(q->policy->exclusive ? send_prepare_all(s, deadline_ns, e)
                               : queue_send_prepare_lines(s, deadline_ns, e)))
        return false;
    if (!q->predecessor.pid[0])
        return true;
    return session_query(s, QUEUE_QUIET, queue_sql_terminate,
        SESSION_PARAMS(q->predecessor.pid, q->predecessor.since), deadline_ns, e);
}

bool queue_decode_schema(const PGresult *r, struct err *e)
{
    if (!session_check_row(r, e))
        return false;
    if (PQgetisnull(r, 0, 0))
        return true;
    return err_set(e, ERR_SCHEMA,
        "the database lacks what migrations/%s brings; apply the migrations up to the latest",
        PQgetvalue(r, 0, 0));
}

bool queue_send_self(struct session *s, int64_t deadline_ns, struct err *e)
{
    return session_query(s, QUEUE_SELF, queue_sql_self, none, deadline_ns, e);
}

bool queue_decode_self(struct queue *q, const PGresult *r, struct err *e)
{
    if (!session_check(r, e))
        return false;
    if (PQntuples(r) != 1)
        return err_set(e, ERR_CONNECTION, "the server does not show us our own session");
    snprintf(q->backend.pid, sizeof q->backend.pid, "%s", PQgetvalue(r, 0, 0));
    snprintf(q->backend.since, sizeof q->backend.since, "%s", PQgetvalue(r, 0, 1));
    return true;
}

bool queue_send_lock(const struct queue *q, struct session *s, enum queue_take due,
    int64_t deadline_ns, struct err *e)
{
    char epoch[SESSION_NUMBER_LEN];

    return session_execute(s, QUEUE_LOCK, "lock",
        SESSION_PARAMS(q->name, q->self, "1", q->number, q->policy->exclusive ? "t" : "f",
            due == TAKE_GRACE ? "t" : "f", q->seen.holder,
            due == TAKE_LEASE ? session_number(epoch, q->seen.epoch) : NULL),
        deadline_ns, e);
}

bool queue_unknown(const char *name, struct err *e)
{
    return err_set(e, ERR_USAGE,
        "MAILROOM_QUEUE_NAME is '%s'; it must be a job_type that has a row in the table jobs",
        name);
}

bool queue_is_unknown(const struct err *e)
{
    return strcmp(e->sqlstate, INVALID_TEXT) == 0;
}

bool queue_other_mode(const struct queue *q, const char *mode, struct err *e)
{
    return err_set(e, ERR_USAGE,
        "MAILROOM_DEQUEUE is '%s', but this queue is used with '%s'; stop all collectors "
        "and let an administrator run mailroom-collector --switch-mode",
        q->policy->name, mode);
}

bool queue_check_lanes(const char *wanted, const char *lanes, struct err *e)
{
    return !wanted || strcmp(wanted, lanes) == 0 ||
           err_set(e, ERR_USAGE,
               "MAILROOM_LANES is '%s', and the queue's lanes are '%s'; stop all collectors and "
               "SELECT mailroom_lanes('%s'), or leave the variable out",
               wanted, lanes, wanted);
}

bool queue_decode_lock(struct queue *q, const PGresult *r, enum queue_lock *lock, struct err *e)
{
    if (!session_check(r, e))
        return queue_is_unknown(e) ? queue_unknown(q->name, e) : false;
    if (PQntuples(r) != 1)
        return queue_unknown(q->name, e);
    bool taken = PQgetvalue(r, 0, 0)[0] == 't', moved = PQgetvalue(r, 0, 3)[0] == 't';
    const char *mode = PQgetvalue(r, 0, 4), *lanes = PQgetvalue(r, 0, 8);
    *lock = PQgetvalue(r, 0, 1)[0] == 't' ? LOCK_FREE : LOCK_HELD;
    snprintf(q->seen.holder, sizeof q->seen.holder, "%s", PQgetvalue(r, 0, 2));
    q->seen.epoch = strtoll(PQgetvalue(r, 0, 5), NULL, 10);
    q->seen.progress = strtoll(PQgetvalue(r, 0, 6), NULL, 10);
    q->seen.waits = PQgetvalue(r, 0, 7)[0] == 't';
    if (mode[0] && strcmp(mode, q->policy->name) != 0)
        return queue_other_mode(q, mode, e);
    if (mode[0] && !queue_check_lanes(q->lanes_wanted, lanes, e))
        return false;
    q->lanes = strchr(lanes, ',') != NULL;
    if (taken)
        *lock = !mode[0] ? LOCK_NEW : moved ? LOCK_MOVED : LOCK_TAKEN;
    return true;
}

bool queue_send_patience(const struct queue *q, struct session *s, bool for_ever, struct err *e)
{
    // While we wait for the lock on tokens, producers queue behind us, so we give up after a
    // second. Once we have the lock, the statement may take as long as it needs.
    static const char patient[] = "SELECT set_config('lock_timeout', '1s', false),"
                                  " set_config('statement_timeout', '0', false)";

    return for_ever ? session_query(s, QUEUE_QUIET, patient, none, CLOCK_NEVER, e)
                    : send_patience(q, s, CLOCK_NEVER, e);
}

bool queue_send_settle(const struct queue *q, struct session *s, struct err *e)
{
    return queue_send_patience(q, s, true, e) &&
           session_query(s, QUEUE_SETTLE, queue_sql_settle,
               SESSION_PARAMS(q->name, q->policy->name), CLOCK_NEVER, e) &&
           queue_send_patience(q, s, false, e);
}

bool queue_send_claim(const struct queue *q, struct session *s, int64_t deadline_ns, struct err *e)
{
    char epoch[SESSION_NUMBER_LEN];

    if (q->lanes && !send_prepare_lanes(s, deadline_ns, e))
        return false;
    return session_query(s, QUEUE_CLAIM, queue_sql_claim,
        SESSION_PARAMS(
            q->name, q->self, q->number, session_number(epoch, q->seen.epoch), q->policy->name),
        deadline_ns, e);
}

bool queue_decode_claim(struct queue *q, const PGresult *r, int64_t *adopted, struct err *e)
{
    if (!session_check(r, e))
        return false;
    if (PQntuples(r) != 1)
        return err_set(e, ERR_CONNECTION,
            "another collector claimed the queue between our look and our claim");
    q->epoch = strtoll(PQgetvalue(r, 0, 0), NULL, 10);
    q->n = strtoll(PQgetvalue(r, 0, 1), NULL, 10);
    *adopted = strtoll(PQgetvalue(r, 0, 2), NULL, 10);
    return true;
}

bool queue_send_doubt(const struct queue *q, struct session *s, const struct doubt *d,
    int64_t deadline_ns, struct err *e)
{
    struct buf ids;

    buf_init(&ids, SIZE_MAX);
    bool ok = doubt_ids(d, &ids) || err_memory(e);
    ok = ok && session_execute_binary(s, QUEUE_DOUBT, "doubt",
                   SESSION_PARAMS(q->name, q->number, ids.data), deadline_ns, e);
    buf_fini(&ids);
    return ok;
}

bool queue_decode_doubt(struct doubt *d, const PGresult *r, struct err *e)
{
    if (!session_check(r, e))
        return false;
    for (int i = 0; i < PQntuples(r); i++) {
        struct token t = {.id = column_int64(r, i, 0), .secret = column_field(r, i, 1)};
        doubt_mark(d, &t);
    }
    doubt_keep_marked(d);
    return true;
}

bool queue_send_owners(const struct queue *q, struct session *s,
    const struct owners_finished *finished, int64_t deadline_ns, struct err *e)
{
    return session_query(s, QUEUE_OWNERS, queue_sql_owners,
        SESSION_PARAMS(q->name, q->number, finished->numbers, finished->renewed), deadline_ns, e);
}

bool queue_decode_owners(struct owners *o, const PGresult *r, int64_t now_ns, struct err *e)
{
    if (!session_check(r, e))
        return false;
    for (int i = 0; i < PQntuples(r); i++)
        owners_tell(o,
            (struct owner){.number = strtoll(PQgetvalue(r, i, 0), NULL, 10),
                .renewed = strtoll(PQgetvalue(r, i, 1), NULL, 10),
                .alive = PQgetvalue(r, i, 2)[0] == 't',
                .busy = PQgetvalue(r, i, 3)[0] == 't'},
            now_ns);
    owners_end(o, now_ns);
    return true;
}

bool queue_send_renew(const struct queue *q, struct session *s, int64_t deadline_ns, struct err *e)
{
    char epoch[SESSION_NUMBER_LEN];

    return session_query(s, QUEUE_RENEW, queue_sql_renew,
        SESSION_PARAMS(
            q->name, q->number, q->policy->exclusive ? session_number(epoch, q->epoch) : NULL),
        deadline_ns, e);
}

void queue_send_release(const struct queue *q, struct session *s, int64_t deadline_ns)
{
    char first[SESSION_NUMBER_LEN];
    struct err ignored; // if this fails, others wait for the grace

    err_clear(&ignored);
    if (session_query(s, QUEUE_QUIET, queue_sql_release,
            SESSION_PARAMS(q->name, q->self, q->number, session_number(first, q->first)),
            deadline_ns, &ignored))
        return;
}

bool queue_send_check(const struct queue *q, struct session *s, int64_t deadline_ns, struct err *e)
{
    return session_query(
        s, QUEUE_CHECK, queue_sql_check, SESSION_PARAMS(q->channel), deadline_ns, e);
}

bool queue_send_bell(struct queue *q, struct session *s, int64_t deadline_ns, struct err *e)
{
    memcpy(q->bell_taken, q->bell, sizeof q->bell_taken);
    return session_query(s, QUEUE_BELL, queue_sql_bell, SESSION_PARAMS(q->bell), deadline_ns, e);
}

bool queue_decode_bell(const PGresult *r, uint64_t *silent_below, struct err *e)
{
    if (!session_check_row(r, e))
        return false;
    *silent_below = strtoull(PQgetvalue(r, 0, 0), NULL, 10);
    return true;
}

bool queue_send_bell_let_go(
    const struct queue *q, struct session *s, int64_t deadline_ns, struct err *e)
{
    // By now the producers may announce each token, and then there is no bell.
    return session_query(
        s, QUEUE_QUIET, queue_sql_bell_let_go, SESSION_PARAMS(q->bell_taken), deadline_ns, e);
}

bool queue_decode_check(struct queue *q, const PGresult *r, struct err *e)
{
    if (!session_check_row(r, e))
        return false;
    if (PQgetvalue(r, 0, 0)[0] != 't')
        return err_set(e, ERR_CONNECTION, "the server has forgotten our LISTEN");
    snprintf(q->bell, sizeof q->bell, "%s", PQgetvalue(r, 0, 1));
    return true;
}
