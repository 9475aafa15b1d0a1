// ci/bench-collector measures with these programs, and compares the collector with them.
//
//   bare-loop drain LIMIT TOKENS   runs the collector's own read and move in a
//                                  pipeline, decodes nothing, writes nothing
//   bare-loop count TOKENS...      reads lines until this many tokens have come
//   bare-loop listen               listens, selects what is announced, and
//                                  writes a line for each row; moves nothing
//   bare-loop latency COMMITS COMMAND...
//                                  commits accounts, one after the other, while
//                                  the command runs, which writes lines
//   bare-loop answer               reads lines and answers each token by itself:
//                                  one line and one write for each
//
// drain and count print times, in ns since 1970: of the first rows or bytes, and
// of each number of tokens asked for. latency prints how long after its commit
// each line came, in ns.
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <time.h>

#include <endian.h>
#include <libpq-fe.h>

#include "base/base.h"
#include "bare_sql.h"
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

static PGconn *open_database(void)
{
    PGconn *conn = PQconnectdb(getenv("MAILROOM_DATABASE_URL"));

    if (PQstatus(conn) != CONNECTION_OK)
        die("connect", conn);
    return conn;
}

static PGresult *run(PGconn *conn, const char *sql)
{
    PGresult *r = PQexec(conn, sql);

    if (PQresultStatus(r) != PGRES_TUPLES_OK && PQresultStatus(r) != PGRES_COMMAND_OK)
        die(sql, conn);
    return r;
}

// Returns the next result of the pipeline. Skips the NULL and the sync that end a statement.
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
    const char *values[] = {"mailroom", limit, examine}; // a read that begins at the cursor

    if (!PQsendQueryPrepared(conn, "read", 3, values, NULL, NULL, 1) || !PQpipelineSync(conn))
        die("read", conn);
}

// Moves the cursor behind the last row of a read. Uses these columns: 1 part, 3 xid, 4 id (in the
// head row: n), 5 email (in the head row: the snapshot).
static void send_move(PGconn *conn, PGresult *r)
{
    int last = PQntuples(r) - 1;
    uint32_t part;
    char n[24], xid[24], id[24];

    memcpy(&part, PQgetvalue(r, last, 1), sizeof part);
    snprintf(n, sizeof n, "%llu", (unsigned long long)at(r, 0, 4));
    snprintf(xid, sizeof xid, "%llu", (unsigned long long)at(r, last, 3));
    snprintf(id, sizeof id, "%llu", (unsigned long long)at(r, last, 4));
    const char *values[] = {
        "mailroom", n, be32toh(part) == 2 ? PQgetvalue(r, 0, 5) : NULL, "f", xid, id};
    if (!PQsendQueryPrepared(conn, "move", 6, values, NULL, NULL, 0) || !PQpipelineSync(conn))
        die("move", conn);
}

static int drain(const char *limit, int64_t tokens)
{
    int64_t first_ns = 0, left = tokens;
    PGconn *conn = open_database();

    PQclear(run(conn, queue_sql_settings));
    PQclear(PQprepare(conn, "read", bare_sql_read, 0, NULL));
    PQclear(PQprepare(conn, "move", bare_sql_move, 0, NULL));
    PQenterPipelineMode(conn);
    send_read(conn, limit);
    while (left > 0) {
        PGresult *r = take(conn);
        if (left == tokens)
            first_ns = now_ns();
        left -= PQntuples(r) - 1; // the head row is no token
        send_move(conn, r);
        if (left > 0)
            send_read(conn, limit);
        PQclear(r);
        PQclear(take(conn));
    }
    printf("%lld\n%lld\n", (long long)first_ns, (long long)now_ns());
    PQfinish(conn);
    return 0;
}

// Prints the time of the first bytes, and of each mark, which is a number of tokens. A token has
// five fields, so four commas are within it, and a comma or a newline follows it.
static int count(char **marks)
{
    static char buffer[1 << 16];
    int64_t fields = 0;
    ssize_t n;

    while (*marks && (n = read(STDIN_FILENO, buffer, sizeof buffer)) > 0) {
        if (fields == 0)
            printf("%lld\n", (long long)now_ns());
        for (ssize_t i = 0; i < n; i++)
            fields += buffer[i] == ',' || buffer[i] == '\n';
        for (; *marks && fields >= 5 * atoll(*marks); marks++)
            printf("%lld\n", (long long)now_ns());
    }
    return *marks != NULL;
}

static _Noreturn void listen_and_select(void)
{
    PGconn *conn = open_database();
    PGresult *r = run(conn, "SELECT coalesce(max(id), 0)::text FROM tokens");
    char last[24];

    snprintf(last, sizeof last, "%s", PQgetvalue(r, 0, 0));
    PQclear(r);
    PQclear(run(conn, "LISTEN token_insert"));
    PQclear(PQprepare(conn, "select",
        "SELECT t.id, a.email, a.login, t.secret, t.code FROM tokens AS t "
        "JOIN accounts AS a ON a.id = t.account WHERE t.id > $1::bigint ORDER BY t.id",
        0, NULL));
    dprintf(STDOUT_FILENO, "listening\n");
    for (;;) {
        struct pollfd p = {.fd = PQsocket(conn), .events = POLLIN};
        const char *values[] = {last};
        PGnotify *n;
        if (poll(&p, 1, -1) < 0 || !PQconsumeInput(conn))
            die("listening", conn);
        if (!(n = PQnotifies(conn)))
            continue;
        PQfreemem(n);
        r = PQexecPrepared(conn, "select", 1, values, NULL, NULL, 0);
        if (PQresultStatus(r) != PGRES_TUPLES_OK)
            die("select", conn);
        for (int i = 0; i < PQntuples(r); i++) {
            dprintf(STDOUT_FILENO, "1,%s,%s,%s,%s\n", PQgetvalue(r, i, 1), PQgetvalue(r, i, 2),
                PQgetvalue(r, i, 3), PQgetvalue(r, i, 4));
            snprintf(last, sizeof last, "%s", PQgetvalue(r, i, 0));
        }
        PQclear(r);
    }
}

// Starts the command. *lines becomes the end of a pipe from which the command's lines are read.
static pid_t spawn(char **command, int *lines)
{
    int fds[2];
    pid_t pid = pipe(fds) == 0 ? fork() : -1;

    if (pid < 0)
        die("a child cannot be started", NULL);
    if (pid > 0) {
        close(fds[1]);
        *lines = fds[0];
        return pid;
    }
    dup2(fds[1], STDOUT_FILENO);
    close(fds[0]);
    close(fds[1]);
    execv(command[0], command);
    die(command[0], NULL);
    return -1;
}

// Waits for one line and returns when it came.
static int64_t line_ns(int lines)
{
    char buffer[4096];
    ssize_t n;

    while ((n = read(lines, buffer, sizeof buffer)) > 0)
        if (buffer[n - 1] == '\n')
            return now_ns();
    die("the command ended", NULL);
    return 0;
}

// The first line shows that the command is up, and is not counted. `listen` sends a line when it is
// ready; for any other command an account is inserted first. After each line both sides get 2 ms to
// come to rest.
static int latency(int commits, char **command)
{
    PGconn *conn = PQconnectdb(""); // as the owner, by the PG* variables
    int lines;

    signal(SIGPIPE, SIG_IGN);
    if (PQstatus(conn) != CONNECTION_OK)
        die("connect", conn);
    pid_t pid = spawn(command, &lines);
    for (int i = 0; i <= commits; i++) {
        if (i > 0 || strcmp(command[1] ? command[1] : "", "listen") != 0)
            PQclear(run(conn, "INSERT INTO accounts (email, login) VALUES "
                              "(gen_random_uuid() || '@x', gen_random_uuid())"));
        int64_t committed_ns = now_ns(), came_ns = line_ns(lines);
        if (i > 0)
            printf("%lld\n", (long long)(came_ns - committed_ns));
        nanosleep(&(struct timespec){.tv_nsec = 2000000}, NULL);
    }
    kill(pid, SIGTERM);
    waitpid(pid, NULL, 0);
    PQfinish(conn);
    return 0;
}

// Answers a token as soon as its last field was read.
static int answer(void)
{
    static char buffer[1 << 16];
    long long line = 1;
    int commas = 0, place = 0;
    ssize_t n;

    while ((n = read(STDIN_FILENO, buffer, sizeof buffer)) > 0)
        for (ssize_t i = 0; i < n; i++) {
            bool end = buffer[i] == '\n';
            commas += buffer[i] == ',';
            if (!end && commas < 5)
                continue;
            if (dprintf(STDOUT_FILENO, "%lld.%d sent\n", line, ++place) < 0)
                return 1;
            commas = 0;
            if (end) {
                line++;
                place = 0;
            }
        }
    return 0;
}

int main(int argc, char **argv)
{
    if (argc == 4 && strcmp(argv[1], "drain") == 0)
        return drain(argv[2], atoll(argv[3]));
    if (argc >= 3 && strcmp(argv[1], "count") == 0)
        return count(argv + 2);
    if (argc == 2 && strcmp(argv[1], "listen") == 0)
        listen_and_select();
    if (argc >= 4 && strcmp(argv[1], "latency") == 0)
        return latency(atoi(argv[2]), argv + 3);
    if (argc == 2 && strcmp(argv[1], "answer") == 0)
        return answer();
    fprintf(
        stderr, "bare-loop: drain, count, listen, latency or answer; see the head of its source\n");
    return 64;
}
