#include "session.h"

#include "base/base.h"
#include "stop.h"

static bool connect_within(struct session *s, const char *url, struct err *e) MUST_USE;
static bool take_answer(
    struct session *s, int64_t deadline_ns, PGresult **result, struct err *e) MUST_USE;
static bool next_result(
    struct session *s, int64_t deadline_ns, PGresult **result, struct err *e) MUST_USE;
static bool wait_for(struct session *s, short events, int64_t deadline_ns, struct err *e) MUST_USE;
static bool failed(struct session *s, const PGresult *result, struct err *e);

bool session_open(
    struct session *s, const char *url, const char *channel, int64_t patience_ns, struct err *e)
{
    char listen[256];
    PGresult *result;

    s->patience_ns = patience_ns;
    if (!connect_within(s, url, e))
        return false;
    char *name = PQescapeIdentifier(s->conn, channel, strlen(channel));
    if (!name)
        return failed(s, NULL, e);
    snprintf(listen, sizeof listen, "LISTEN %s", name);
    PQfreemem(name);
    if (!session_query(s, listen, 0, NULL, &result, e))
        return false;
    PQclear(result);
    return true;
}

// Connects. False when the server does not answer within the patience.
static bool connect_within(struct session *s, const char *url, struct err *e)
{
    const char *keys[] = {"dbname", "fallback_application_name", NULL};
    const char *values[] = {url, "mailroom-zoo", NULL};
    int64_t deadline_ns = clock_now_ns() + s->patience_ns;

    s->conn = PQconnectStartParams(keys, values, 1);
    if (!s->conn || PQstatus(s->conn) == CONNECTION_BAD)
        return failed(s, NULL, e);
    PostgresPollingStatusType step = PGRES_POLLING_WRITING;
    while (step != PGRES_POLLING_OK) {
        if (step == PGRES_POLLING_FAILED)
            return failed(s, NULL, e);
        if (!wait_for(s, step == PGRES_POLLING_READING ? POLLIN : POLLOUT, deadline_ns, e))
            return false;
        step = PQconnectPoll(s->conn);
    }
    return true;
}

void session_close(struct session *s)
{
    PQfinish(s->conn);
    s->conn = NULL;
}

bool session_query(struct session *s, const char *sql, int count, const char *const *params,
    PGresult **result, struct err *e)
{
    int64_t deadline_ns = clock_now_ns() + s->patience_ns;

    *result = NULL;
    if (!PQsendQueryParams(s->conn, sql, count, NULL, params, NULL, NULL, 0))
        return failed(s, NULL, e);
    return take_answer(s, deadline_ns, result, e);
}

bool session_value(
    struct session *s, const struct session_call *call, char *value, size_t size, struct err *e)
{
    PGresult *result;

    if (!session_query(s, call->sql, call->count, call->params, &result, e))
        return false;
    if (value)
        snprintf(value, size, "%s", PQntuples(result) > 0 ? PQgetvalue(result, 0, 0) : "");
    PQclear(result);
    return true;
}

static bool send_call(struct session *s, const struct session_call *call)
{
    return PQsendQueryParams(s->conn, call->sql, call->count, NULL, call->params, NULL, NULL, 0);
}

bool session_call_after(struct session *s, const struct session_call *first,
    const struct session_call *call, PGresult **result, struct err *e)
{
    int64_t deadline_ns = clock_now_ns() + s->patience_ns;
    PGresult *other = NULL;

    *result = NULL;
    if (!PQenterPipelineMode(s->conn) || !send_call(s, first) || !send_call(s, call) ||
        !PQpipelineSync(s->conn))
        return failed(s, NULL, e);
    if (!take_answer(s, deadline_ns, &other, e))
        return false;
    PQclear(other); // the answer to `first` does not matter
    other = NULL;
    if (!take_answer(s, deadline_ns, result, e))
        return false;
    // The transaction is committed only when the answer to the Sync has come.
    bool ok = next_result(s, deadline_ns, &other, e);
    ok = ok && ((PQresultStatus(other) == PGRES_PIPELINE_SYNC && PQexitPipelineMode(s->conn)) ||
                   failed(s, other, e));
    PQclear(other);
    if (!ok)
        PQclear(*result);
    return ok;
}

// Waits for the result of one statement. False when the statement or the connection fails. On
// success the caller clears the result.
static bool take_answer(struct session *s, int64_t deadline_ns, PGresult **result, struct err *e)
{
    PGresult *rest = NULL;

    bool ok = next_result(s, deadline_ns, result, e);
    ExecStatusType status = PQresultStatus(*result);
    if (ok && status != PGRES_TUPLES_OK && status != PGRES_COMMAND_OK)
        ok = failed(s, *result, e);
    // At the end of the statement, PQgetResult returns NULL. Before that it is not certain that the
    // statement has committed.
    while (ok && (ok = next_result(s, deadline_ns, &rest, e)) && rest)
        PQclear(rest);
    if (!ok)
        PQclear(*result);
    return ok;
}

// Waits for the connection's next result; *result NULL: the statement has no further result.
static bool next_result(struct session *s, int64_t deadline_ns, PGresult **result, struct err *e)
{
    while (PQisBusy(s->conn)) {
        if (!wait_for(s, POLLIN, deadline_ns, e))
            return false;
        if (!PQconsumeInput(s->conn))
            return failed(s, NULL, e);
    }
    *result = PQgetResult(s->conn);
    return true;
}

bool session_listen(struct session *s, int *count, struct err *e)
{
    PGnotify *announcement;

    if (!PQconsumeInput(s->conn))
        return failed(s, NULL, e);
    while ((announcement = PQnotifies(s->conn))) {
        PQfreemem(announcement);
        ++*count;
    }
    return true;
}

// Waits until the connection's socket has one of the events. False after the deadline.
static bool wait_for(struct session *s, short events, int64_t deadline_ns, struct err *e)
{
    struct pollfd fd = {.fd = PQsocket(s->conn), .events = events};

    while (!stop_poll(&fd, 1, deadline_ns))
        if (stop_expired(deadline_ns))
            return err_set(e, ERR_CONNECTION, "the server does not answer");
    return true;
}

// Fills in the error of the result, or of the connection without one. Always returns false.
static bool failed(struct session *s, const PGresult *result, struct err *e)
{
    const char *state = result ? PQresultErrorField(result, PG_DIAG_SQLSTATE) : NULL;
    const char *text = s->conn ? PQerrorMessage(s->conn) : "no memory";

    err_set(e, ERR_CONNECTION, "%.*s", (int)strcspn(text, "\n"), text);
    snprintf(e->sqlstate, sizeof e->sqlstate, "%s", state ? state : "");
    // A table, column, function or type is missing, so a new connection would not help.
    if (*e->sqlstate && strstr("42P01 42703 42883 42704", e->sqlstate))
        e->kind = ERR_SCHEMA;
    return false;
}
