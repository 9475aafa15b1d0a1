#include "postgres/sql.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// Writes the text in one line: each run of white space becomes one blank.
static void trimmed(char *out, size_t size, const char *text)
{
    size_t used = 0;

    for (; *text && used + 1 < size; text++) {
        bool space = isspace((unsigned char)*text);
        if (!space || (used > 0 && out[used - 1] != ' '))
            out[used++] = (char)(space ? ' ' : *text);
    }
    if (used > 0 && out[used - 1] == ' ')
        used--;
    out[used] = '\0';
}

bool sql_fail(PGconn *conn, const PGresult *result, const char *doing, struct err *e)
{
    const char *state = result ? PQresultErrorField(result, PG_DIAG_SQLSTATE) : NULL;
    const char *text = result ? PQresultErrorMessage(result) : PQerrorMessage(conn);
    char clean[800];

    trimmed(clean, sizeof clean, text);
    bool dead = PQstatus(conn) != CONNECTION_OK;
    err_set(e, dead ? ERR_CONNECTION : ERR_SQL, "%s: %s", doing, clean);
    if (state)
        snprintf(e->sqlstate, sizeof e->sqlstate, "%s", state);
    return false;
}

// libpq would print that the server has ended, which a fault makes an expected event.
static void on_notice(void *arg, const PGresult *notice)
{
    const char *state = PQresultErrorField(notice, PG_DIAG_SQLSTATE);

    (void)arg;
    if (!state || strncmp(state, "57", 2) != 0)
        fputs(PQresultErrorMessage(notice), stderr);
}

PGconn *sql_connect(const char *conninfo, struct err *e)
{
    static const char *const keys[] = {
        "dbname", "connect_timeout", "application_name", "options", NULL};
    const char *values[] = {conninfo, "10", "mailproof",
        "-c statement_timeout=60s -c client_min_messages=warning", NULL};
    PGconn *conn = PQconnectdbParams(keys, values, 1);

    PQsetNoticeReceiver(conn, on_notice, NULL);
    if (PQstatus(conn) == CONNECTION_OK)
        return conn;
    sql_fail(conn, NULL, "cannot connect", e);
    e->kind = ERR_CONNECTION;
    PQfinish(conn);
    return NULL;
}

bool sql_exec(PGconn *conn, const char *sql, struct err *e)
{
    PGresult *result = PQexec(conn, sql);
    ExecStatusType status = PQresultStatus(result);
    bool ok = status == PGRES_COMMAND_OK || status == PGRES_TUPLES_OK;

    if (!ok) {
        char doing[80];
        snprintf(doing, sizeof doing, "%.60s", sql);
        sql_fail(conn, result, doing, e);
    }
    PQclear(result);
    return ok;
}

PGresult *sql_query(
    PGconn *conn, const char *sql, int count, const char *const *params, struct err *e)
{
    PGresult *result = PQexecParams(conn, sql, count, NULL, params, NULL, NULL, 0);
    ExecStatusType status = PQresultStatus(result);

    if (status == PGRES_COMMAND_OK || status == PGRES_TUPLES_OK)
        return result;
    char doing[80];
    snprintf(doing, sizeof doing, "%.60s", sql);
    sql_fail(conn, result, doing, e);
    PQclear(result);
    return NULL;
}

bool sql_value(PGconn *conn, const char *sql, char *out, size_t size, struct err *e)
{
    PGresult *result = sql_query(conn, sql, 0, NULL, e);

    if (!result)
        return false;
    bool ok = PQntuples(result) > 0;
    if (ok)
        snprintf(out, size, "%s", PQgetvalue(result, 0, 0));
    else
        err_set(e, ERR_SQL, "%.60s: no row", sql);
    PQclear(result);
    return ok;
}
