// Faults that keep a server busy. Each runs in a thread of its own, with its own sessions, which
// stay open until the fault ends.
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>

#include "fault/family.h"
#include "os/interrupt.h"
#include "postgres/migrate.h"
#include "postgres/sql.h"

#define SESSIONS_MAX 2000
#define READERS 4

static const int64_t step_ns = 5 * NS_PER_MS;

struct busy {
    const struct fault_context *context;
    const struct fault_spec *spec;
    PGconn *sessions[SESSIONS_MAX];
    size_t session_count;
    pthread_t thread;
    bool started;
    atomic_bool stop;
    // The fields below belong to the thread until it is joined.
    uint64_t proofs; // answered queries, refused connections, or looks that saw a VACUUM
    double fullest;  // largest used share of the notification queue
    bool failed;
    struct err why;
};

static void fill_notify_queue(struct busy *s);
static void take_connections(struct busy *s);
static void vacuum_slowly(struct busy *s);
static void read_without_pause(struct busy *s);

// Runs as the fault's thread until the fault is told to stop or fails, or until the notification
// queue is as full as it should be.
static void *run_busy_session(void *arg)
{
    struct busy *s = arg;

    switch (s->spec->verb->id) {
    case VERB_FILL_NOTIFY_QUEUE:
        fill_notify_queue(s);
        break;
    case VERB_EXHAUST_CONNECTIONS:
        take_connections(s);
        break;
    case VERB_LONG_VACUUM:
        vacuum_slowly(s);
        break;
    default:
        read_without_pause(s);
        break;
    }
    return NULL;
}

// Starts the fault's thread. After a failure, too, end_busy frees r->kept.
static bool begin_busy(struct fault_context *c, struct fault_record *r, struct err *e)
{
    struct busy *s = memory_zeroed(1, sizeof *s);

    r->kept = s;
    s->context = c;
    s->spec = r->spec;
    // The fault needs a thread, because the main thread must carry out other faults meanwhile.
    s->started = pthread_create(&s->thread, NULL, run_busy_session, s) == 0;
    return s->started || err_set(e, ERR_SYSTEM, "cannot start a thread");
}

// Fills in the evidence. False when the fault was not seen at work.
static bool is_busy_proved(const struct busy *s, struct fault_record *r, struct err *e)
{
    unsigned long long proofs = s->proofs;

    // A collector that withstands a fault without effect has proved nothing, so each fault must
    // have been seen at work.
    switch (s->spec->verb->id) {
    case VERB_FILL_NOTIFY_QUEUE:
        snprintf(
            r->evidence, sizeof r->evidence, "notification queue %.2f%% full", 100 * s->fullest);
        return s->fullest >= s->spec->to ||
               err_set(e, ERR_SYSTEM, "the notification queue got %.2f%% full, not %.2f%%",
                   100 * s->fullest, 100 * s->spec->to);
    case VERB_EXHAUST_CONNECTIONS:
        snprintf(r->evidence, sizeof r->evidence, "%zu %s taken, further ones refused %llu %s",
            s->session_count, NOUN(s->session_count, "connection", "connections"), proofs,
            NOUN(proofs, "time", "times"));
        return proofs > 0 || err_set(e, ERR_SYSTEM, "the server never refused a connection");
    case VERB_LONG_VACUUM:
        snprintf(r->evidence, sizeof r->evidence, "VACUUM of tokens seen at work %llu %s", proofs,
            NOUN(proofs, "time", "times"));
        return proofs > 0 || err_set(e, ERR_SYSTEM, "no VACUUM was seen at work");
    default:
        snprintf(r->evidence, sizeof r->evidence, "%d sessions read everything %llu %s", READERS,
            proofs, NOUN(proofs, "time", "times"));
        return proofs > 0 || err_set(e, ERR_SYSTEM, "no session read anything");
    }
}

// Stops the thread and closes its sessions. False when the fault failed or was not seen at work.
static bool end_busy(struct fault_context *c, struct fault_record *r, struct err *e)
{
    struct busy *s = r->kept;
    bool ok = false;

    (void)c;
    r->kept = NULL;
    if (!s)
        return err_set(e, ERR_INTERNAL, "it never began");
    atomic_store(&s->stop, true);
    // The evidence belongs to the thread, so read it only after the thread has ended.
    if (s->started) {
        pthread_join(s->thread, NULL);
        ok = !s->failed && is_busy_proved(s, r, e);
    }
    if (s->failed)
        *e = s->why;
    for (size_t i = 0; i < s->session_count; i++)
        PQfinish(s->sessions[i]);
    free(s);
    return ok;
}

// --- what the threads share -----------------------------------------------------------

// Opens a session and keeps it until the fault ends. `first` is its first statement; NULL: none.
// Returns NULL and sets s->failed when the connection or that statement fails.
static PGconn *open_busy_session(struct busy *s, const char *first)
{
    // Without a timeout, because a query of the session may last as long as the fault.
    PGconn *conn = connect_without_timeout(s->context, s->context->server->database, &s->why);

    s->failed = !conn;
    if (!conn)
        return NULL;
    s->sessions[s->session_count++] = conn;
    s->failed = first && !sql_exec(conn, first, &s->why);
    return s->failed ? NULL : conn;
}

// Waits 5 ms at most. True when bytes from the server have come.
static bool wait_readable(PGconn *conn)
{
    struct pollfd p = {.fd = PQsocket(conn), .events = POLLIN};

    return poll(&p, 1, (int)(step_ns / NS_PER_MS)) > 0;
}

static void send_cancel(PGconn *conn)
{
    PGcancel *cancel = PQgetCancel(conn);
    char ignored[256];

    if (cancel)
        PQcancel(cancel, ignored, sizeof ignored);
    PQfreeCancel(cancel);
}

// --- fill-notify-queue ------------------------------------------------------------------

// Fills the notification queue. A listener within a transaction reads no notifications, so the
// queue keeps all that are sent meanwhile. The listener's transaction has neither a snapshot nor an
// id, so it does not hold the horizon back.
static void fill_notify_queue(struct busy *s)
{
    // A payload has at most 7999 bytes. The number makes each payload differ, because the server
    // sends equal notifications of one transaction only once.
    static const char fill[] = "SELECT count(pg_notify('mailproof_fill', repeat('x', 7900) || i))"
                               " FROM generate_series(1, 500) AS i";
    char usage[32];
    PGconn *listener = open_busy_session(s, "LISTEN mailproof_fill");
    s->failed = s->failed || !sql_exec(listener, "BEGIN", &s->why);
    PGconn *filler = !s->failed ? open_busy_session(s, NULL) : NULL;

    while (filler && !atomic_load(&s->stop) && s->fullest < s->spec->to) {
        if (!sql_exec(filler, fill, &s->why) ||
            !sql_value(
                filler, "SELECT pg_notification_queue_usage()", usage, sizeof usage, &s->why)) {
            s->failed = true;
            return;
        }
        s->fullest = strtod(usage, NULL);
    }
}

// --- exhaust-connections ------------------------------------------------------------------

// Begins to connect as an ordinary role. May return NULL; was_refused and PQfinish accept that.
static PGconn *begin_connecting(const struct server *server)
{
    struct buf conninfo FREED_BY(buf_fini) = BUF_INIT(4096);
    PGconn *conn = NULL;

    if (server->provider->conninfo(server, MIGRATE_STRANGER, server->database, &conninfo) &&
        buf_str(&conninfo))
        conn = PQconnectStart(conninfo.data);
    sql_drop_notices(conn);
    // With this setting, the message of a connection that failed ends with its SQLSTATE.
    PQsetErrorVerbosity(conn, PQERRORS_SQLSTATE);
    return conn;
}

// Waits until the connection is open. Returns false when it failed, or when the fault is told to
// stop.
static bool finish_connecting(const struct busy *s, PGconn *conn)
{
    PostgresPollingStatusType status = PGRES_POLLING_WRITING;

    while (PQstatus(conn) != CONNECTION_BAD && status != PGRES_POLLING_OK) {
        struct pollfd p = {
            .fd = PQsocket(conn), .events = status == PGRES_POLLING_READING ? POLLIN : POLLOUT};
        if (atomic_load(&s->stop))
            return false;
        if (poll(&p, 1, (int)(step_ns / NS_PER_MS)) > 0)
            status = PQconnectPoll(conn);
    }
    return status == PGRES_POLLING_OK;
}

// True for the error too_many_connections. Any other failure, for example that of a server that is
// away, proves nothing. With PQERRORS_SQLSTATE, the message ends with the server's code; the text
// before it may be translated.
static bool was_refused(const PGconn *conn)
{
    return strstr(PQerrorMessage(conn), ":  53300\n") != NULL;
}

// Opens connections as an ordinary role and keeps them, until the fault ends. Each refusal proves
// that all are taken. The slots that are reserved for the superuser stay free, because the harness
// needs them.
static void take_connections(struct busy *s)
{
    while (!atomic_load(&s->stop)) {
        PGconn *conn = begin_connecting(s->context->server);
        bool taken = finish_connecting(s, conn);
        if (taken && s->session_count == SESSIONS_MAX) {
            s->failed = true;
            err_set(&s->why, ERR_SYSTEM, "the server has more than %d connections", SESSIONS_MAX);
        }
        if (taken && !s->failed) {
            s->sessions[s->session_count++] = conn;
        } else {
            s->proofs += was_refused(conn);
            PQfinish(conn);
        }
        if (s->failed)
            return;
        // The fault goes on after the first refusal, so that a slot that a session frees is taken
        // at once.
        interrupt_sleep_until(clock_now_ns() + step_ns);
    }
}

// --- long-vacuum ---------------------------------------------------------------------------

// Counts a proof if the session with this pid is seen at its VACUUM. The server may show an
// autovacuum, too, which proves nothing.
static void count_seen_vacuum(struct busy *s, PGconn *watcher, int pid)
{
    char sql[100], count[16];

    snprintf(sql, sizeof sql, "SELECT count(*) FROM pg_stat_progress_vacuum WHERE pid = %d", pid);
    if (sql_value(watcher, sql, count, sizeof count, &s->why))
        s->proofs += strcmp(count, "0") != 0;
}

// Vacuums the tokens again and again, as slowly as the settings allow. A second session watches
// whether the VACUUM is seen at work, which proves the fault.
static void vacuum_slowly(struct busy *s)
{
    PGconn *watcher = open_busy_session(s, NULL);
    PGconn *conn =
        watcher ? open_busy_session(s, "SET vacuum_cost_delay = 100; SET vacuum_cost_limit = 1")
                : NULL;

    while (conn && !atomic_load(&s->stop)) {
        s->failed = !PQsendQuery(conn, "VACUUM (INDEX_CLEANUP ON) tokens");
        while (!s->failed && PQisBusy(conn)) {
            if (atomic_load(&s->stop))
                send_cancel(conn);
            count_seen_vacuum(s, watcher, PQbackendPID(conn));
            if (wait_readable(conn))
                s->failed = !PQconsumeInput(conn);
        }
        for (PGresult *result; (result = PQgetResult(conn)) != NULL;) {
            // At the fault's end we cancel the VACUUM ourselves, so its error is no failure then.
            s->failed = s->failed ||
                        (PQresultStatus(result) == PGRES_FATAL_ERROR && !atomic_load(&s->stop));
            PQclear(result);
        }
        if (s->failed) {
            sql_fail(conn, NULL, "VACUUM", &s->why);
            return;
        }
    }
}

// --- active-readers --------------------------------------------------------------------------

// Lets sessions read without a pause, each within one transaction that keeps its first snapshot.
static void read_without_pause(struct busy *s)
{
    // The sleep leaves processor time to the other sessions.
    static const char query[] = "SELECT count(*), count(t.secret), pg_sleep(0.005)"
                                " FROM accounts AS a JOIN tokens AS t ON t.account = a.id";

    for (int i = 0; i < READERS; i++) {
        if (!open_busy_session(
                s, "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY; SELECT count(*) FROM tokens"))
            return;
    }
    while (!atomic_load(&s->stop) && !s->failed) {
        for (int i = 0; i < READERS; i++) {
            PGconn *conn = s->sessions[i];
            // The session is within its transaction, and no query of it is at work.
            bool idle = PQtransactionStatus(conn) == PQTRANS_INTRANS;
            // No session's next query waits for another session's answer, so all read at once.
            if (idle)
                s->failed = s->failed || !PQsendQuery(conn, query);
            else if (wait_readable(conn))
                s->failed = s->failed || !PQconsumeInput(conn);
            while (!s->failed && !PQisBusy(conn)) {
                PGresult *result = PQgetResult(conn);
                s->proofs += result != NULL;
                PQclear(result);
                if (!result)
                    break;
            }
            if (s->failed)
                sql_fail(conn, NULL, "reading", &s->why);
        }
    }
}

const struct fault_verb fault_busy_verbs[] = {
    {VERB_FILL_NOTIFY_QUEUE, .begin = begin_busy, .end = end_busy},
    {VERB_EXHAUST_CONNECTIONS, .begin = begin_busy, .end = end_busy},
    {VERB_LONG_VACUUM, .begin = begin_busy, .end = end_busy},
    {VERB_ACTIVE_READERS, .begin = begin_busy, .end = end_busy},
    {0},
};
