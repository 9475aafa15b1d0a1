#include "postgres/sql.h"

#include <ctype.h>
#include <poll.h>

#include "os/interrupt.h"

#define SILENCE_MS 1000 // after so long a silence of a host, PQreset begins to connect anew

static const int64_t await_limit_ns = 60 * NS_PER_S;
static const int64_t await_poll_ns = 20 * NS_PER_MS;

// Appends text, and writes each run of white space as one blank. What does not fit is cut off.
static void append_collapsed(char *out, size_t size, size_t *used, const char *text, size_t len)
{
    for (size_t i = 0; i < len && *used + 1 < size; i++) {
        bool space = isspace((unsigned char)text[i]);
        if (!space || (*used > 0 && out[*used - 1] != ' '))
            out[(*used)++] = (char)(space ? ' ' : text[i]);
    }
    out[*used] = '\0';
}

// True when the line continues the sentence of the line before it. libpq breaks some long sentences
// into two lines. Both begin with a tab, and the second goes on with a small letter.
static bool continues_sentence(const char *line)
{
    return *line == '\t' && islower((unsigned char)line[1]);
}

void sql_one_line(char *out, size_t size, const char *text)
{
    size_t used = 0;

    *out = '\0';
    while (*text) {
        const char *line = text;
        size_t len = strcspn(line, "\n");
        text += len + (line[len] == '\n');
        // Leaves out a line that is blank, or that only points at a place in the line before it.
        if (strspn(line, " \t\r^") >= len)
            continue;
        if (used > 0)
            append_collapsed(out, size, &used, continues_sentence(line) ? " " : "; ",
                continues_sentence(line) ? 1 : 2);
        append_collapsed(out, size, &used, line, len);
        while (used > 0 && (out[used - 1] == ' ' || out[used - 1] == '.'))
            out[--used] = '\0';
    }
}

bool sql_fail(PGconn *conn, const PGresult *result, const char *doing, struct err *e)
{
    const char *state = result ? PQresultErrorField(result, PG_DIAG_SQLSTATE) : NULL;
    const char *text = result ? PQresultErrorMessage(result) : PQerrorMessage(conn);
    char clean[800];

    sql_one_line(clean, sizeof clean, text);
    bool dead = PQstatus(conn) != CONNECTION_OK;
    err_set(e, dead ? ERR_CONNECTION : ERR_SQL, "%s: %s", doing, clean);
    if (state)
        snprintf(e->sqlstate, sizeof e->sqlstate, "%s", state);
    return false;
}

static void ignore_notice(void *unused, const PGresult *notice)
{
    (void)unused;
    (void)notice;
}

void sql_drop_notices(PGconn *conn)
{
    PQsetNoticeReceiver(conn, ignore_notice, NULL);
}

// Calls PQconnectPoll until the connection is made or has failed. When a host stays silent for
// SILENCE_MS, returns and leaves the connection unfinished, because PQconnectPoll itself never
// turns from a silent host to the next one.
static void poll_until_connected(PGconn *conn)
{
    PostgresPollingStatusType next = PGRES_POLLING_WRITING;
    int ready = 1;

    while (ready != 0 && (next == PGRES_POLLING_READING || next == PGRES_POLLING_WRITING)) {
        struct pollfd polled = {
            .fd = PQsocket(conn), .events = next == PGRES_POLLING_READING ? POLLIN : POLLOUT};
        ready = poll(&polled, 1, SILENCE_MS);
        if (ready > 0)
            next = PQconnectPoll(conn);
        else if (ready < 0 && errno != EINTR)
            return;
    }
}

PGconn *sql_connect(const char *conninfo, struct err *e)
{
    // With expand_dbname, dbname may be a whole conninfo. The keys after it prevail.
    static const char *const keys[] = {
        "dbname", "connect_timeout", "application_name", "options", NULL};
    const char *values[] = {conninfo, "10", "mailproof",
        "-c statement_timeout=60s -c client_min_messages=warning", NULL};
    // libpq prints the notices that arrive before a receiver is set, and PQconnectdbParams returns
    // too late to set one.
    PGconn *conn = PQconnectStartParams(keys, values, 1 /* expand_dbname */);
    sql_drop_notices(conn);
    if (PQstatus(conn) != CONNECTION_BAD)
        poll_until_connected(conn);
    // For an unfinished connection, PQreset begins again with the first host, and waits for each
    // host as long as connect_timeout allows.
    if (PQstatus(conn) != CONNECTION_OK && PQstatus(conn) != CONNECTION_BAD)
        PQreset(conn);
    if (PQstatus(conn) == CONNECTION_OK)
        return conn;
    sql_fail(conn, NULL, "cannot connect", e);
    e->kind = ERR_CONNECTION;
    PQfinish(conn);
    return NULL;
}

// True when the server carried the statement out. Otherwise the error names the statement by its
// beginning, up to the first line end or semicolon.
static bool was_carried_out(PGconn *conn, const PGresult *result, const char *sql, struct err *e)
{
    ExecStatusType status = PQresultStatus(result);
    size_t len = strcspn(sql, "\n;");
    char doing[80];

    if (status == PGRES_COMMAND_OK || status == PGRES_TUPLES_OK)
        return true;
    snprintf(doing, sizeof doing, "%.*s", (int)(len < 60 ? len : 60), sql);
    return sql_fail(conn, result, doing, e);
}

bool sql_exec(PGconn *conn, const char *sql, struct err *e)
{
    PGresult *result FREED_BY(sql_clear) = PQexec(conn, sql);

    return was_carried_out(conn, result, sql, e);
}

PGresult *sql_query(
    PGconn *conn, const char *sql, int count, const char *const *params, struct err *e)
{
    PGresult *result = PQexecParams(conn, sql, count, NULL, params, NULL, NULL, 0);

    if (was_carried_out(conn, result, sql, e))
        return result;
    PQclear(result);
    return NULL;
}

bool sql_value(PGconn *conn, const char *sql, char *out, size_t size, struct err *e)
{
    PGresult *result FREED_BY(sql_clear) = sql_query(conn, sql, 0, NULL, e);

    if (!result)
        return false;
    if (PQntuples(result) == 0)
        return err_set(e, ERR_SQL, "%.60s: no row", sql);
    snprintf(out, size, "%s", PQgetvalue(result, 0, 0));
    return true;
}

bool sql_await(PGconn *conn, const char *sql, const char *late, struct err *e)
{
    int64_t deadline_ns = clock_now_ns() + await_limit_ns;
    char value[8] = "";

    while (sql_value(conn, sql, value, sizeof value, e)) {
        if (strcmp(value, "t") == 0)
            return true;
        if (clock_now_ns() > deadline_ns)
            return err_set(e, ERR_SYSTEM, "%s", late);
        if (!interrupt_sleep(await_poll_ns, e))
            return false;
    }
    return false;
}

void sql_clear(PGresult **result)
{
    PQclear(*result);
}

void sql_finish(PGconn **conn)
{
    PQfinish(*conn);
    *conn = NULL;
}
