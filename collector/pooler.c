#include "pooler.h"

#include <stdlib.h>
#include <string.h>

#include <libpq-fe.h>

#define TIMEOUT_S "2"

static bool shares(const char *url, const char *backend_pid)
{
    static const char *const keywords[] = {"dbname", "connect_timeout", NULL};
    const char *const values[] = {url, TIMEOUT_S, NULL};
    PGconn *conn = PQconnectdbParams(keywords, values, 1);
    bool same = false;

    if (PQstatus(conn) == CONNECTION_OK) {
        PGresult *result = PQexec(conn, "SELECT pg_backend_pid()");
        same = PQresultStatus(result) == PGRES_TUPLES_OK &&
               strcmp(PQgetvalue(result, 0, 0), backend_pid) == 0;
        PQclear(result);
    }
    PQfinish(conn);
    return same;
}

bool pooler_check(const char *url, int told_pid, const char *backend_pid, struct err *e)
{
    if (told_pid == atoi(backend_pid) || !shares(url, backend_pid))
        return true;
    return err_set(e, ERR_USAGE,
        "MAILROOM_DATABASE_URL leads to a pooler that lends our session to others, so "
        "notifications would get lost; connect to the server, or to a pool in session mode");
}
