#include "queue/queue.h"

#include "process/random.h"
#include "queue/queue_lines.h"
#include "queue_sql.h"

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
    // Our number fits into a bigint, and is never 0, because 0 means nobody.
    snprintf(q->number, sizeof q->number, "%" PRIu64, number >> 1 | 1);
    return holder_self(q->self, e);
}

int64_t queue_patience_ms(const struct queue *q)
{
    return 4000 + q->limit / 10;
}

// Sets the usual timeouts: queue_patience_ms for a statement, and none for a lock.
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
    // A session that was never set up had no lock, and may not have ended its predecessor, which
    // then stays the one to end.
    if (q->set_up)
        q->predecessor = q->backend;
    q->set_up = false;
    q->backend = (struct backend){0};
}

// Subscribes to the notifications of the channel.
static bool send_listen(
    const struct queue *q, struct session *s, int64_t deadline_ns, struct err *e)
{
    char sql[sizeof "LISTEN \"\"" + 126]; // a name has up to 63 bytes; each quote is doubled
    char *quoted = PQescapeIdentifier(s->conn, q->channel, strlen(q->channel));

    if (!quoted)
        return err_set(
            e, ERR_USAGE, "MAILROOM_CHANNEL_NAME is '%s'; it must be valid UTF-8", q->channel);
    snprintf(sql, sizeof sql, "LISTEN %s", quoted);
    PQfreemem(quoted);
    return session_query(s, QUEUE_QUIET, sql, none, deadline_ns, e);
}

bool queue_send_setup(const struct queue *q, struct session *s, int64_t deadline_ns, struct err *e)
{
    // LISTEN comes before the first read, so that commits in between are announced.
    if (!session_query(s, QUEUE_QUIET, queue_sql_settings, none, deadline_ns, e) ||
        !send_patience(q, s, deadline_ns, e) ||
        !session_query(s, QUEUE_SCHEMA, queue_sql_schema, none, deadline_ns, e) ||
        !send_listen(q, s, deadline_ns, e) || !queue_send_check(q, s, deadline_ns, e) ||
        !queue_send_prepare_lines(s, deadline_ns, e))
        return false;
    if (!q->predecessor.pid[0])
        return true;
    // The backend of the last session may not have noticed its end, and keep our lock.
    return session_query(s, QUEUE_QUIET, queue_sql_terminate,
        SESSION_PARAMS(q->predecessor.pid, q->predecessor.since), deadline_ns, e);
}

bool queue_decode_schema(const PGresult *r, struct err *e)
{
    if (!session_check_row(r, e))
        return false;
    if (PQgetisnull(r, 0, 0)) // no migration is missing
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

bool queue_fail_unknown(const char *name, struct err *e)
{
    return err_set(e, ERR_USAGE,
        "MAILROOM_QUEUE_NAME is '%s'; it must be a job_type that has a row in the table jobs",
        name);
}

bool queue_fail_lost(const struct queue *q, struct err *e)
{
    return err_set(e, ERR_CONNECTION, "%s",
        q->policy->exclusive ? "another collector has taken the queue over"
                             : "the queue was changed while we worked on it");
}

bool queue_fail_other_mode(const struct queue *q, const char *mode, struct err *e)
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

bool queue_send_patience(const struct queue *q, struct session *s, bool for_ever, struct err *e)
{
    // While we wait for the lock on tokens, producers queue behind us, so we give up after a
    // second. Once we have the lock, the statement may take as long as it needs.
    static const char patient[] = "SELECT set_config('lock_timeout', '1s', false),"
                                  " set_config('statement_timeout', '0', false)";

    return for_ever ? session_query(s, QUEUE_QUIET, patient, none, CLOCK_NEVER, e)
                    : send_patience(q, s, CLOCK_NEVER, e);
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
    // This names the lock that we took. q->bell may be empty by now: then producers use no bell any
    // more.
    return session_query(
        s, QUEUE_QUIET, queue_sql_bell_let_go, SESSION_PARAMS(q->bell_taken), deadline_ns, e);
}

bool queue_send_silent(struct session *s, uint64_t below, int64_t deadline_ns, struct err *e)
{
    char number[SESSION_NUMBER_LEN];

    return session_query(s, QUEUE_SILENT, queue_sql_bell_silent,
        SESSION_PARAMS(session_number(number, (int64_t)below)), deadline_ns, e);
}

bool queue_decode_silent(const PGresult *r, bool *silent, struct err *e)
{
    if (!session_check_row(r, e))
        return false;
    *silent = PQgetvalue(r, 0, 0)[0] == 't';
    return true;
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
