// What ci/bench-collector measures the collector against, and with.
//
//   bare-loop drain LIMIT TOKENS   runs the collector's own read and move in a
//                                  pipeline, decodes nothing, writes nothing;
//                                  prints rows per second, connecting included
//   bare-loop count TOKENS         reads lines until so many tokens have come;
//                                  prints the time, in ns since 1970
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <endian.h>
#include <libpq-fe.h>

#include "queue_sql.h"

static int64_t now_ns(void)
{
    struct timespec t;

    clock_gettime(CLOCK_REALTIME, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static void die(const char *what, PGconn *conn)
{
    fprintf(stderr, "bare-loop: %s: %s\n", what, conn ? PQerrorMessage(conn) : "");
    exit(70);
}

static PGresult *run(PGconn *conn, const char *sql)
{
    PGresult *r = PQexec(conn, sql);

    if (PQresultStatus(r) != PGRES_TUPLES_OK && PQresultStatus(r) != PGRES_COMMAND_OK)
        die(sql, conn);
    return r;
}

// The next result of the pipeline; the end of a statement and its sync are skipped.
static PGresult *take(PGconn *conn)
{
    PGresult *r = PQgetResult(conn);

    if (PQresultStatus(r) != PGRES_TUPLES_OK)
        die("a statement", conn);
    PQclear(PQgetResult(conn));
    PQclear(PQgetResult(conn));
    return r;
}

static uint64_t at(const PGresult *r, int row, int column)
{
    uint64_t big;

    memcpy(&big, PQgetvalue(r, row, column), sizeof big);
    return be64toh(big);
}

static void send_read(PGconn *conn, const char *limit)
{
    int n = atoi(limit);
    char examine[16];
    snprintf(examine, sizeof examine, "%d", n > 250 ? 4 * n : 1000);
    const char *values[] = {"mailroom", limit, examine, NULL, NULL};

    if (!PQsendQueryPrepared(conn, "read", 5, values, NULL, NULL, 1) || !PQpipelineSync(conn))
        die("read", conn);
}

static void send_move(PGconn *conn, const char *epoch, uint64_t *xid, uint64_t *id, PGresult *r)
{
    char text[4][24];
    int last = PQntuples(r) - 1;
    const char *values[] = {
        "mailroom", epoch, text[0], text[1], text[2], text[3], "{}", "{}", "{}", "{}"};

    snprintf(text[0], sizeof text[0], "%llu", (unsigned long long)*xid);
    snprintf(text[1], sizeof text[1], "%llu", (unsigned long long)*id);
    *xid = at(r, last, 1);
    *id = at(r, last, 2);
    snprintf(text[2], sizeof text[2], "%llu", (unsigned long long)*xid);
    snprintf(text[3], sizeof text[3], "%llu", (unsigned long long)*id);
    if (!PQsendQueryPrepared(conn, "advance", 10, values, NULL, NULL, 0) || !PQpipelineSync(conn))
        die("advance", conn);
}

static int drain(const char *limit, int64_t tokens)
{
    int64_t from = now_ns(), left = tokens;
    PGconn *conn = PQconnectdb(getenv("MAILROOM_DATABASE_URL"));
    char epoch[24];
    uint64_t xid = 0, id = 0;

    if (PQstatus(conn) != CONNECTION_OK)
        die("connect", conn);
    PQclear(run(conn, queue_sql_settings));
    PGresult *r = run(conn, "SELECT epoch FROM jobs");
    snprintf(epoch, sizeof epoch, "%s", PQgetvalue(r, 0, 0));
    PQclear(r);
    PQclear(PQprepare(conn, "read", queue_sql_read, 0, NULL));
    PQclear(PQprepare(conn, "advance", queue_sql_advance, 0, NULL));
    PQenterPipelineMode(conn);
    send_read(conn, limit);
    while (left > 0) {
        r = take(conn);
        left -= PQntuples(r);
        send_move(conn, epoch, &xid, &id, r);
        if (left > 0)
            send_read(conn, limit);
        PQclear(r);
        PQclear(take(conn));
    }
    printf("%lld\n", (long long)(tokens * 1000000000 / (now_ns() - from)));
    PQfinish(conn);
    return 0;
}

// Five fields to a token: four commas, and one more or a newline behind it.
static int count(int64_t tokens)
{
    static char buffer[1 << 16];
    int64_t left = 5 * tokens;
    ssize_t n;

    while (left > 0 && (n = read(STDIN_FILENO, buffer, sizeof buffer)) > 0)
        for (ssize_t i = 0; i < n; i++)
            left -= buffer[i] == ',' || buffer[i] == '\n';
    printf("%lld\n", (long long)now_ns());
    return left > 0;
}

int main(int argc, char **argv)
{
    if (argc == 4 && strcmp(argv[1], "drain") == 0)
        return drain(argv[2], atoll(argv[3]));
    if (argc == 3 && strcmp(argv[1], "count") == 0)
        return count(atoll(argv[2]));
    fprintf(stderr, "bare-loop: drain LIMIT TOKENS, or count TOKENS\n");
    return 64;
}
