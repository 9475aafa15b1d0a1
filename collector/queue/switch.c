#include "queue/switch.h"

#include <libpq-fe.h>

#include "base/log.h"
#include "queue/queue.h"
#include "queue_sql.h"
#include "session/session.h"

#define NO_DATA_FOUND "P0002"

static bool check_schema(PGconn *conn, struct err *e)
{
    PGresult *result = PQexec(conn, queue_sql_schema);
    bool ok = queue_decode_schema(result, e);

    PQclear(result);
    return ok;
}

// Asks for the change of mode. The answer is the number of tokens that wait; null: the queue has
// this mode already.
static bool ask_switch(PGconn *conn, const struct config *config, struct err *e)
{
    const char *values[] = {config->queue_name, config->policy->name};
    PGresult *result = PQexecParams(conn, queue_sql_switch_mode, 2, NULL, values, NULL, NULL, 0);
    bool ok = session_check_row(result, e);

    if (ok && PQgetisnull(result, 0, 0))
        log_line("QUEUE", "'%s' is dequeued with '%s' already", config->queue_name,
            config->policy->name);
    else if (ok)
        log_line("QUEUE", "'%s' is dequeued with '%s' from now on; %s %s", config->queue_name,
            config->policy->name, PQgetvalue(result, 0, 0),
            NOUN(atoll(PQgetvalue(result, 0, 0)), "token waits", "tokens wait"));
    else if (strcmp(e->sqlstate, NO_DATA_FOUND) == 0)
        queue_fail_unknown(config->queue_name, e);
    PQclear(result);
    return ok;
}

bool switch_mode(const struct config *config, struct err *e)
{
    PGconn *conn = PQconnectdb(config->database_url);
    bool ok = PQstatus(conn) == CONNECTION_OK;

    if (ok) {
        ok = check_schema(conn, e) && ask_switch(conn, config, e);
    } else {
        const char *why = conn ? PQerrorMessage(conn) : "out of memory";
        err_set(e, ERR_CONNECTION, "cannot connect: %.*s", (int)strcspn(why, "\n"), why);
    }
    PQfinish(conn);
    return ok;
}
